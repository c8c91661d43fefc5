-- The schema of version 23. It never changes: later changes are the numbered files of this folder.

CREATE TABLE schema_version (
    version    INTEGER NOT NULL PRIMARY KEY,
    name       TEXT NOT NULL,
    applied_at INTEGER NOT NULL
) STRICT;

-- Ids are 16-byte UUIDs, times are milliseconds since 1970 (UTC), documents are JSON text.
CREATE TABLE accounts (
    id         BLOB    NOT NULL PRIMARY KEY,
    email      TEXT    NOT NULL UNIQUE,
    plan       TEXT    NOT NULL,
    anchor     INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    -- Who may see the operator's page.
    role TEXT NOT NULL DEFAULT 'user' CHECK (role IN ('user', 'operator'))
) STRICT, WITHOUT ROWID;

CREATE TABLE api_keys (
    id           BLOB    NOT NULL PRIMARY KEY,
    account      BLOB    NOT NULL REFERENCES accounts (id),
    hash         BLOB    NOT NULL UNIQUE CHECK (length(hash) = 32),
    last_four    TEXT    NOT NULL,
    label        TEXT    NOT NULL,
    created_at   INTEGER NOT NULL,
    last_used_at INTEGER,
    revoked_at   INTEGER
) STRICT, WITHOUT ROWID;

CREATE INDEX api_keys_account ON api_keys (account, created_at, id);

-- The long documents stand last, so that a list reads past none of them.
CREATE TABLE runs (
    id              BLOB    NOT NULL PRIMARY KEY,
    account         BLOB    NOT NULL REFERENCES accounts (id),
    status          TEXT    NOT NULL CHECK (status IN ('running', 'completed', 'failed')),
    search_type     TEXT    NOT NULL,
    premium         INTEGER NOT NULL CHECK (premium IN (0, 1)),
    -- What the simulated web answered must never pass for the real one's answers.
    simulated       INTEGER NOT NULL CHECK (simulated IN (0, 1)),
    total_results   INTEGER NOT NULL DEFAULT 0,
    credits_charged INTEGER NOT NULL,
    created_at      INTEGER NOT NULL,
    completed_at    INTEGER,
    owner           BLOB,
    lease_until     INTEGER,
    query           TEXT    NOT NULL,
    progress        TEXT    NOT NULL,
    coverage        TEXT    NOT NULL,
    error           TEXT,
    planned         TEXT    NOT NULL,
    reports         TEXT    NOT NULL,
    -- The newest of these writes.
    revision INTEGER NOT NULL DEFAULT 0,
    -- How many times a run was taken over: who drives it writes under the number that it got.
    epoch INTEGER NOT NULL DEFAULT 0,
    -- When a search was driven first.
    started_at INTEGER,
    -- Only where it waits for its first driver: it comes after all that wait with a lower turn, and all with the same one
    -- that are older. The runs of an account have turns that follow each other; the first one shares the lowest turn of all.
    turn INTEGER,
    -- How long the checks of a run may take: the options of the search, without those that have their default value.
    options TEXT NOT NULL DEFAULT '{}',
    -- Runs that were started by following a lead of another run: all runs below one root are its family.
    -- NULL where nothing follows leads: depth, limits and choice of modules, a document. Each run of a family has the same.
    follow TEXT,
    -- NULL for a run that no lead has started. The root may have been deleted since.
    root_run BLOB,
    parent_run BLOB,
    -- The number of leads between the root and the run.
    depth INTEGER NOT NULL DEFAULT 0,
    -- The accounts that were looked up in the run, a document.
    lookups TEXT NOT NULL DEFAULT '[]',
    -- Of a root that follows leads: 'running' until no further lead will be followed, then 'completed', with a document.
    following TEXT CHECK (following IN ('running', 'completed')),
    followed TEXT,
    -- The watch that has started the run. It may have been deleted since.
    watch BLOB,
    -- NULL for a run that is not of a batch.
    batch BLOB,
    -- The time at which the owner stopped the run, or the following of its leads.
    stopped_at INTEGER,
    -- The run whose modules without a conclusion this one asks again. It may have been deleted since.
    retry_of BLOB,
    -- The run that was the free retry of this one. It may have been deleted since.
    free_retry BLOB,
    -- The choice of modules of the search, a document. NULL: all modules, or a run of an earlier version.
    choice TEXT,
    -- What the owner notes about the run. The tags are a JSON array of texts without `"` and `\`, or NULL if there is none.
    tags TEXT,
    note TEXT
) STRICT;

CREATE INDEX runs_list ON runs (account, created_at DESC, id DESC);
-- Which runs are old enough to be removed.
CREATE INDEX runs_ended ON runs (completed_at) WHERE completed_at IS NOT NULL;
-- A list of one status or of one type reads what it shows, however many others there are between: without these an
-- account with a million searches that asks for the running ones reads all of them.
CREATE INDEX runs_by_status ON runs (account, status, created_at DESC, id DESC);
CREATE INDEX runs_by_type ON runs (account, search_type, created_at DESC, id DESC);
CREATE INDEX runs_family ON runs (root_run, created_at, id) WHERE root_run IS NOT NULL;
CREATE INDEX runs_following ON runs (id) WHERE following = 'running';
CREATE INDEX runs_watch ON runs (watch, created_at, id) WHERE watch IS NOT NULL;
CREATE INDEX runs_batch ON runs (batch) WHERE batch IS NOT NULL;
CREATE INDEX runs_tagged ON runs (account, created_at DESC, id DESC) WHERE tags IS NOT NULL;
CREATE INDEX runs_queue ON runs (simulated, turn, created_at, id, account, status, owner)
    WHERE status = 'running' AND owner IS NULL AND turn IS NOT NULL;
CREATE INDEX runs_begun ON runs (simulated, created_at, id)
    WHERE status = 'running' AND (turn IS NULL OR owner IS NOT NULL);

CREATE TABLE results (
    run    BLOB    NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    id     INTEGER NOT NULL,
    -- A hash of type, scope and canonical value: a result may be found by several modules.
    dedup  BLOB    NOT NULL CHECK (length(dedup) = 16),
    record TEXT    NOT NULL,
    -- The write of its run, counted from 1, that added or changed the result last.
    revision INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (run, id),
    UNIQUE (run, dedup)
) STRICT, WITHOUT ROWID;

CREATE TABLE idempotency_keys (
    account    BLOB    NOT NULL REFERENCES accounts (id),
    key        TEXT    NOT NULL,
    body_hash  BLOB    NOT NULL CHECK (length(body_hash) = 32),
    run        BLOB    NOT NULL UNIQUE,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (account, key)
) STRICT, WITHOUT ROWID;

CREATE INDEX idempotency_keys_age ON idempotency_keys (created_at);

-- What checks taught of each module: counts of which each further check takes a part, so that newer ones count
-- more. Processes add to them. Of modules that a catalogue no longer has, the row stays for when it is back.
CREATE TABLE module_health (
    module             TEXT    NOT NULL,
    -- What the simulated web taught says nothing about the real one.
    simulated          INTEGER NOT NULL CHECK (simulated IN (0, 1)),
    checks             INTEGER NOT NULL,
    hit                REAL    NOT NULL,
    miss               REAL    NOT NULL,
    blocked            REAL    NOT NULL,
    rate_limited       REAL    NOT NULL,
    timeout            REAL    NOT NULL,
    error              REAL    NOT NULL,
    unreliable         REAL    NOT NULL,
    -- Seconds, weighted, and the sum of the weights.
    latency_sum        REAL    NOT NULL,
    latency_weight     REAL    NOT NULL,
    last_checked_at    INTEGER,
    last_hit_at        INTEGER,
    last_conclusive_at INTEGER,
    -- How long the conclusive answers of the module took: counts of which each further answer takes a part.
    durations TEXT NOT NULL DEFAULT '{}',
    PRIMARY KEY (module, simulated)
) STRICT, WITHOUT ROWID;

-- Who did what, when: never a query, a result, a key or an email address. Rows are only ever added, and the
-- database refuses everything else. They outlive what they speak of, so nothing in here is a foreign key.
CREATE TABLE audit (
    id       INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT CHECK (id > 0),
    at       INTEGER NOT NULL,
    actor    TEXT    NOT NULL CHECK (actor IN ('account', 'key', 'cli', 'system')),
    actor_id BLOB    CHECK ((actor_id IS NULL) = (actor IN ('cli', 'system'))),
    action   TEXT    NOT NULL,
    -- Whose account, key or run it was.
    account  BLOB,
    -- The id of the key or run, the name of the migration.
    object   TEXT,
    -- The request's id, as its answer carried it.
    request  TEXT,
    detail   TEXT
) STRICT;

CREATE INDEX audit_account ON audit (account, id);
CREATE INDEX audit_at ON audit (at);

CREATE TRIGGER audit_is_never_updated BEFORE UPDATE ON audit
BEGIN
    SELECT RAISE(ABORT, 'the audit is append-only: UPDATE is refused');
END;

CREATE TRIGGER audit_is_never_deleted BEFORE DELETE ON audit
BEGIN
    SELECT RAISE(ABORT, 'the audit is append-only: DELETE is refused');
END;

-- INSERT OR REPLACE removes a row without asking the trigger above.
CREATE TRIGGER audit_is_never_replaced BEFORE INSERT ON audit
WHEN EXISTS (SELECT 1 FROM audit WHERE id = NEW.id)
BEGIN
    SELECT RAISE(ABORT, 'the audit is append-only: REPLACE is refused');
END;

-- Why credits were used. Rows are only ever added. They outlive their run and their account, so neither is a foreign key.
CREATE TABLE charges (
    run         BLOB    NOT NULL,
    kind        TEXT    NOT NULL CHECK (kind IN ('charge', 'refund')),
    account     BLOB    NOT NULL,
    cycle_start INTEGER NOT NULL,
    credits     INTEGER NOT NULL CHECK (credits >= 0),
    at          INTEGER NOT NULL,
    PRIMARY KEY (run, kind)
) STRICT, WITHOUT ROWID;

CREATE TABLE credit_usage (
    account     BLOB    NOT NULL,
    cycle_start INTEGER NOT NULL,
    used        INTEGER NOT NULL CHECK (used >= 0),
    PRIMARY KEY (account, cycle_start)
) STRICT, WITHOUT ROWID;

-- The passwords of the web app. An account has none until its owner uses the set-up link.
CREATE TABLE passwords (
    account    BLOB    NOT NULL PRIMARY KEY REFERENCES accounts (id) ON DELETE CASCADE,
    -- A PHC string of Argon2id.
    hash       TEXT    NOT NULL,
    changed_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE web_sessions (
    id           BLOB    NOT NULL PRIMARY KEY,
    account      BLOB    NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    -- SHA-256 of what the cookie holds.
    token_hash   BLOB    NOT NULL UNIQUE CHECK (length(token_hash) = 32),
    -- What forms must bring back.
    csrf         BLOB    NOT NULL CHECK (length(csrf) = 32),
    created_at   INTEGER NOT NULL,
    last_seen_at INTEGER NOT NULL,
    -- By whichever comes first: nothing was seen for long, or it is old.
    expires_at   INTEGER NOT NULL,
    user_agent   TEXT    NOT NULL,
    address      TEXT    NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX web_sessions_account ON web_sessions (account, created_at, id);
CREATE INDEX web_sessions_expiry ON web_sessions (expires_at);

-- Links that set a password, each once; an account has one at most.
CREATE TABLE set_up_links (
    token_hash BLOB    NOT NULL PRIMARY KEY CHECK (length(token_hash) = 32),
    account    BLOB    NOT NULL UNIQUE REFERENCES accounts (id) ON DELETE CASCADE,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- How many attempts to sign in lately, by what they have in common: a hash of the email address or of the client's
-- network. `due` (milliseconds since 1970) moves ahead with each attempt; what is too far ahead is refused.
CREATE TABLE sign_in_attempts (
    subject BLOB    NOT NULL PRIMARY KEY CHECK (length(subject) = 32),
    due     INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Since when servers have run on this database without a long pause, and when one was last seen, by their own clocks. One row.
CREATE TABLE running (
    id      INTEGER NOT NULL PRIMARY KEY CHECK (id = 1),
    since   INTEGER NOT NULL,
    last_at INTEGER NOT NULL
) STRICT;

-- The circuit breakers of hosts: hosts that gave no answer to the last checks, and those that answered again lately.
CREATE TABLE host_circuits (
    host        TEXT    NOT NULL,
    -- Whether the host is one of the simulated web.
    simulated   INTEGER NOT NULL,
    -- The time of the observation that changed the circuit. Of two changes, the later one is valid.
    changed_at  INTEGER NOT NULL,
    -- NULL in all of these: the circuit is closed.
    outcome     TEXT,
    open_since  INTEGER,
    -- The wait before the next try, in milliseconds.
    wait_ms     INTEGER,
    next_try_at INTEGER,
    PRIMARY KEY (host, simulated)
) STRICT, WITHOUT ROWID;

-- The modules in quarantine: modules that failed their last control checks, and those that passed one again lately.
CREATE TABLE module_quarantines (
    module      TEXT    NOT NULL,
    -- Whether the control checks were made on the simulated web.
    simulated   INTEGER NOT NULL,
    -- The time of the observation that put the module in quarantine or ended that. Of two changes, the later one is valid.
    changed_at  INTEGER NOT NULL,
    -- NULL in all of these: the module is asked. The cause is a document: the last failed control check.
    cause       TEXT,
    open_since  INTEGER,
    -- The wait before the next try, in milliseconds.
    wait_ms     INTEGER,
    next_try_at INTEGER,
    PRIMARY KEY (module, simulated)
) STRICT, WITHOUT ROWID;

-- Signed catalogue bundles. The one with the greatest serial is in use. Going back to the one before it deletes it.
CREATE TABLE catalog_bundles (
    serial     INTEGER NOT NULL PRIMARY KEY,
    created_at INTEGER NOT NULL,
    -- The time at which the bundle was stored here.
    stored_at  INTEGER NOT NULL,
    -- The whole file with its signature.
    document   TEXT    NOT NULL
) STRICT;

-- The leads of a family for which a run was started. A row stays if that run is deleted, so that no lead is searched
-- twice and no limit is exceeded.
CREATE TABLE followed_leads (
    root   BLOB NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    lead   BLOB NOT NULL,
    -- 'verified' or 'stated'.
    class  TEXT NOT NULL,
    run    BLOB NOT NULL,
    parent BLOB NOT NULL,
    PRIMARY KEY (root, lead)
) STRICT, WITHOUT ROWID;

-- The profile pictures of results: small PNGs that this service has drawn. They are deleted with their results.
CREATE TABLE thumbnails (
    run    BLOB    NOT NULL,
    result INTEGER NOT NULL,
    png    BLOB    NOT NULL CHECK (length(png) BETWEEN 1 AND 16384),
    PRIMARY KEY (run, result),
    FOREIGN KEY (run, result) REFERENCES results (run, id) ON DELETE CASCADE
) STRICT;

-- Webhooks: addresses of customers that get a request when something happens to their searches.
CREATE TABLE webhooks (
    id             BLOB    NOT NULL PRIMARY KEY,
    account        BLOB    NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    url            TEXT    NOT NULL,
    -- The names of the events that are sent, as a JSON array.
    events         TEXT    NOT NULL,
    -- Encrypted with the operator's key.
    secret         BLOB    NOT NULL CHECK (length(secret) = 60),
    -- The secret before the last rotation. Messages are signed with it too until that moment.
    earlier_secret BLOB    CHECK (length(earlier_secret) = 60),
    earlier_until  INTEGER CHECK ((earlier_until IS NULL) = (earlier_secret IS NULL)),
    -- The reason why nothing is sent. NULL: the webhook is enabled.
    disabled       TEXT    CHECK (disabled IN ('owner', 'gone', 'failing')),
    -- The first attempt that failed since the last success.
    failing_since  INTEGER,
    -- Whether the last attempt took long.
    is_slow        INTEGER NOT NULL DEFAULT 0 CHECK (is_slow IN (0, 1)),
    created_at     INTEGER NOT NULL
) STRICT;

CREATE INDEX webhooks_account ON webhooks (account, created_at, id);

-- What is sent, or was. The id is the webhook-id of the message.
CREATE TABLE webhook_deliveries (
    id              BLOB    NOT NULL PRIMARY KEY,
    webhook         BLOB    NOT NULL REFERENCES webhooks (id) ON DELETE CASCADE,
    event           TEXT    NOT NULL,
    body            TEXT    NOT NULL,
    created_at      INTEGER NOT NULL,
    status          TEXT    NOT NULL CHECK (status IN ('pending', 'delivered', 'failed')),
    -- The time of the next attempt. NULL: there will be none.
    due_at          INTEGER CHECK ((due_at IS NULL) = (status <> 'pending')),
    -- The time until which an instance holds the delivery to send it.
    held_until      INTEGER,
    -- The number of claims. A record of an attempt is refused if the delivery was claimed again.
    epoch           INTEGER NOT NULL DEFAULT 0,
    attempts        INTEGER NOT NULL DEFAULT 0,
    -- The last attempt.
    last_attempt_at INTEGER,
    http_status     INTEGER,
    error           TEXT,
    latency_ms      INTEGER,
    head            TEXT
) STRICT;

CREATE INDEX webhook_deliveries_due ON webhook_deliveries (webhook, due_at, id) WHERE due_at IS NOT NULL;
CREATE INDEX webhook_deliveries_list ON webhook_deliveries (webhook, id);
CREATE INDEX webhook_deliveries_age ON webhook_deliveries (created_at);

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
