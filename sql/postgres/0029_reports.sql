-- A server of an earlier version must not write reports between the copy and the removal of the column.
LOCK TABLE runs IN ACCESS EXCLUSIVE MODE;

-- The reports of the modules of a run that have ended. Each row has those of one write, as a document: a write adds a row
-- instead of rewriting all reports of the run.
CREATE TABLE module_reports (
    run      uuid   NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    -- The number of the reports before these.
    first    bigint NOT NULL,
    -- The write of its run, counted from 1, that added them.
    revision bigint NOT NULL,
    reports  text   NOT NULL,
    PRIMARY KEY (run, first)
);

INSERT INTO module_reports (run, first, revision, reports)
SELECT id, 0, revision, reports::text FROM runs WHERE reports::text <> '[]';
ALTER TABLE runs DROP COLUMN reports;
