-- The choice of modules of the search, a document. NULL: all modules, or a run of an earlier version.
ALTER TABLE runs ADD COLUMN choice TEXT;
-- What the owner notes about the run. The tags are a JSON array of texts without `"` and `\`, or NULL if there is none.
ALTER TABLE runs ADD COLUMN tags TEXT;
ALTER TABLE runs ADD COLUMN note TEXT;

CREATE INDEX runs_tagged ON runs (account, created_at DESC, id DESC) WHERE tags IS NOT NULL;

-- What the owner of a run notes about its results. It is deleted with them.
CREATE TABLE annotations (
    run             BLOB    NOT NULL,
    result          INTEGER NOT NULL,
    note            TEXT,
    -- Whether the result belongs to another person than the one who is searched.
    not_this_person INTEGER NOT NULL CHECK (not_this_person IN (0, 1)),
    PRIMARY KEY (run, result),
    FOREIGN KEY (run, result) REFERENCES results (run, id) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
