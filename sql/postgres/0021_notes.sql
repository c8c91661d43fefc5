-- The choice of modules of the search, a document. NULL: all modules, or a run of an earlier version.
ALTER TABLE runs ADD COLUMN choice text;
-- What the owner notes about the run. The tags are a JSON array of texts without `"` and `\`, or NULL if there is none.
ALTER TABLE runs ADD COLUMN tags text;
ALTER TABLE runs ADD COLUMN note text;

CREATE INDEX runs_tagged ON runs (account, created_at DESC, id DESC) WHERE tags IS NOT NULL;

-- What the owner of a run notes about its results. It is deleted with them.
CREATE TABLE annotations (
    run             uuid    NOT NULL,
    result          bigint  NOT NULL,
    note            text,
    -- Whether the result belongs to another person than the one who is searched.
    not_this_person boolean NOT NULL,
    PRIMARY KEY (run, result),
    FOREIGN KEY (run, result) REFERENCES results (run, id) ON DELETE CASCADE
);
