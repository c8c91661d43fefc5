-- Batches: many searches that were accepted together and are started one after the other.
CREATE TABLE batches (
    id         BLOB    NOT NULL PRIMARY KEY,
    account    BLOB    NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    name       TEXT,
    -- Whether its searches query the simulated web.
    simulated  INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    -- No further search is started after that moment.
    stopped_at INTEGER,
    -- Every search that was started has ended, and no further one will be started.
    ended_at   INTEGER,
    -- The account had not enough credits. The next search is tried at that moment.
    retry_at   INTEGER,
    -- Grows with each search that is started. The account whose batches have the lowest one starts the next search.
    turn       INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE INDEX batches_account ON batches (account, created_at, id);
CREATE INDEX batches_open ON batches (created_at, id) WHERE ended_at IS NULL;
CREATE INDEX batches_ended ON batches (ended_at) WHERE ended_at IS NOT NULL;

CREATE TABLE batch_rows (
    batch    BLOB    NOT NULL REFERENCES batches (id) ON DELETE CASCADE,
    -- The place of the search in the request, from 1.
    position INTEGER NOT NULL,
    -- What is searched, a document.
    search   TEXT    NOT NULL,
    state    TEXT    NOT NULL CHECK (state IN ('pending', 'started', 'skipped', 'refused')),
    -- Why the search was refused.
    reason   TEXT    CHECK ((reason IS NULL) = (state <> 'refused')),
    -- The row is deleted with its run.
    run      BLOB    UNIQUE REFERENCES runs (id) ON DELETE CASCADE CHECK ((run IS NULL) = (state <> 'started')),
    PRIMARY KEY (batch, position)
) STRICT, WITHOUT ROWID;

CREATE INDEX batch_rows_pending ON batch_rows (batch, position) WHERE state = 'pending';

-- NULL for a run that is not of a batch.
ALTER TABLE runs ADD COLUMN batch BLOB;
CREATE INDEX runs_batch ON runs (batch) WHERE batch IS NOT NULL;
