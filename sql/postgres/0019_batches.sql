-- Batches: many searches that were accepted together and are started one after the other.
CREATE TABLE batches (
    id         uuid    NOT NULL PRIMARY KEY,
    account    uuid    NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    name       text,
    -- Whether its searches query the simulated web.
    simulated  boolean     NOT NULL,
    created_at timestamptz NOT NULL,
    -- No further search is started after that moment.
    stopped_at timestamptz,
    -- Every search that was started has ended, and no further one will be started.
    ended_at   timestamptz,
    -- The account had not enough credits. The next search is tried at that moment.
    retry_at   timestamptz,
    -- Grows with each search that is started. The account whose batches have the lowest one starts the next search.
    turn       bigint      NOT NULL DEFAULT 0
);

CREATE INDEX batches_account ON batches (account, created_at, id);
CREATE INDEX batches_open ON batches (created_at, id) WHERE ended_at IS NULL;
CREATE INDEX batches_ended ON batches (ended_at) WHERE ended_at IS NOT NULL;

CREATE TABLE batch_rows (
    batch    uuid    NOT NULL REFERENCES batches (id) ON DELETE CASCADE,
    -- The place of the search in the request, from 1.
    position bigint NOT NULL,
    -- What is searched, a document.
    search   text    NOT NULL,
    state    text    NOT NULL CHECK (state IN ('pending', 'started', 'skipped', 'refused')),
    -- Why the search was refused.
    reason   text    CHECK ((reason IS NULL) = (state <> 'refused')),
    -- The row is deleted with its run.
    run      uuid    UNIQUE REFERENCES runs (id) ON DELETE CASCADE CHECK ((run IS NULL) = (state <> 'started')),
    PRIMARY KEY (batch, position)
);

CREATE INDEX batch_rows_pending ON batch_rows (batch, position) WHERE state = 'pending';

-- NULL for a run that is not of a batch.
ALTER TABLE runs ADD COLUMN batch uuid;
CREATE INDEX runs_batch ON runs (batch) WHERE batch IS NOT NULL;
