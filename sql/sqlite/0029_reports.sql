-- The reports of the modules of a run that have ended. Each row has those of one write, as a document: a write adds a row
-- instead of rewriting all reports of the run.
CREATE TABLE module_reports (
    run      BLOB    NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    -- The number of the reports before these.
    first    INTEGER NOT NULL,
    -- The write of its run, counted from 1, that added them.
    revision INTEGER NOT NULL,
    reports  TEXT    NOT NULL,
    PRIMARY KEY (run, first)
) STRICT, WITHOUT ROWID;

INSERT INTO module_reports (run, first, revision, reports)
SELECT id, 0, revision, reports FROM runs WHERE reports <> '[]';
ALTER TABLE runs DROP COLUMN reports;
