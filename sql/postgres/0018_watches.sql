-- Watches: searches that are repeated, with the changes that they have found.
CREATE TABLE watches (
    id          uuid NOT NULL PRIMARY KEY,
    account     uuid NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    search_type text NOT NULL,
    query       text NOT NULL,
    premium     boolean NOT NULL,
    -- The options of the runs and the choice of their modules, as documents.
    options     text NOT NULL,
    choice      text NOT NULL,
    simulated   boolean NOT NULL,
    every_secs  bigint NOT NULL CHECK (every_secs > 0),
    -- The kinds of changes that are reported to webhooks, as a JSON array.
    notify_on   text NOT NULL,
    -- NULL: all webhooks of the account that have subscribed to the event. The webhook may have been deleted since.
    webhook     uuid,
    -- The reason why no runs are started. NULL: the watch is active.
    paused      text CHECK (paused IN ('user', 'credits')),
    -- The time at which the next run is due, by the clock of the database.
    next_at     timestamptz NOT NULL,
    created_at  timestamptz NOT NULL,
    -- The last run. It may have been deleted since.
    last_run    uuid,
    -- Whether the last run has not ended or was not compared yet.
    is_open     boolean NOT NULL DEFAULT false,
    -- The last conclusion of each module, a document. NULL until the first run was compared.
    baseline    text
);

CREATE INDEX watches_account ON watches (account, id);
CREATE INDEX watches_due ON watches (next_at, id) WHERE paused IS NULL AND NOT is_open;
CREATE INDEX watches_open ON watches (id) WHERE is_open;
CREATE INDEX watches_unpaid ON watches (account) WHERE paused = 'credits';

-- The changes that a watch has found.
CREATE TABLE watch_changes (
    id         uuid NOT NULL PRIMARY KEY,
    watch      uuid NOT NULL REFERENCES watches (id) ON DELETE CASCADE,
    kind       text NOT NULL CHECK (kind IN ('added', 'removed', 'changed')),
    -- These runs may have been deleted since.
    run_before uuid NOT NULL,
    run_after  uuid NOT NULL,
    at         timestamptz NOT NULL,
    -- The result with the fields that differ, a document.
    difference text NOT NULL
);

CREATE INDEX watch_changes_list ON watch_changes (watch, id);
CREATE INDEX watch_changes_age ON watch_changes (at);

-- The watch that has started the run. It may have been deleted since.
ALTER TABLE runs ADD COLUMN watch uuid;

CREATE INDEX runs_watch ON runs (watch, created_at, id) WHERE watch IS NOT NULL;
