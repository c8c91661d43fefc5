-- Watches: searches that are repeated, with the changes that they have found.
CREATE TABLE watches (
    id          BLOB NOT NULL PRIMARY KEY,
    account     BLOB NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    search_type TEXT NOT NULL,
    query       TEXT NOT NULL,
    premium     INTEGER NOT NULL CHECK (premium IN (0, 1)),
    -- The options of the runs and the choice of their modules, as documents.
    options     TEXT NOT NULL,
    choice      TEXT NOT NULL,
    simulated   INTEGER NOT NULL CHECK (simulated IN (0, 1)),
    every_secs  INTEGER NOT NULL CHECK (every_secs > 0),
    -- The kinds of changes that are reported to webhooks, as a JSON array.
    notify_on   TEXT NOT NULL,
    -- NULL: all webhooks of the account that have subscribed to the event. The webhook may have been deleted since.
    webhook     BLOB,
    -- The reason why no runs are started. NULL: the watch is active.
    paused      TEXT CHECK (paused IN ('user', 'credits')),
    -- The time at which the next run is due, by the clock of the database.
    next_at     INTEGER NOT NULL,
    created_at  INTEGER NOT NULL,
    -- The last run. It may have been deleted since.
    last_run    BLOB,
    -- Whether the last run has not ended or was not compared yet.
    is_open     INTEGER NOT NULL DEFAULT 0 CHECK (is_open IN (0, 1)),
    -- The last conclusion of each module, a document. NULL until the first run was compared.
    baseline    TEXT
) STRICT;

CREATE INDEX watches_account ON watches (account, id);
CREATE INDEX watches_due ON watches (next_at, id) WHERE paused IS NULL AND NOT is_open;
CREATE INDEX watches_open ON watches (id) WHERE is_open;
CREATE INDEX watches_unpaid ON watches (account) WHERE paused = 'credits';

-- The changes that a watch has found.
CREATE TABLE watch_changes (
    id         BLOB NOT NULL PRIMARY KEY,
    watch      BLOB NOT NULL REFERENCES watches (id) ON DELETE CASCADE,
    kind       TEXT NOT NULL CHECK (kind IN ('added', 'removed', 'changed')),
    -- These runs may have been deleted since.
    run_before BLOB NOT NULL,
    run_after  BLOB NOT NULL,
    at         INTEGER NOT NULL,
    -- The result with the fields that differ, a document.
    difference TEXT NOT NULL
) STRICT;

CREATE INDEX watch_changes_list ON watch_changes (watch, id);
CREATE INDEX watch_changes_age ON watch_changes (at);

-- The watch that has started the run. It may have been deleted since.
ALTER TABLE runs ADD COLUMN watch BLOB;

CREATE INDEX runs_watch ON runs (watch, created_at, id) WHERE watch IS NOT NULL;
