-- Ids are 16-byte UUIDs, times are milliseconds since 1970 (UTC), documents are JSON text.

CREATE TABLE accounts (
    id         BLOB    NOT NULL PRIMARY KEY,
    email      TEXT    NOT NULL UNIQUE,
    plan       TEXT    NOT NULL,
    anchor     INTEGER NOT NULL,
    created_at INTEGER NOT NULL
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

-- What an account used in a billing cycle: the figure that a charge is held against.
CREATE TABLE credit_usage (
    account     BLOB    NOT NULL REFERENCES accounts (id),
    cycle_start INTEGER NOT NULL,
    used        INTEGER NOT NULL CHECK (used >= 0),
    PRIMARY KEY (account, cycle_start)
) STRICT, WITHOUT ROWID;

-- Why it was used. Rows are only ever added; they outlive their run, so `run` is no foreign key.
CREATE TABLE charges (
    run         BLOB    NOT NULL,
    kind        TEXT    NOT NULL CHECK (kind IN ('charge', 'refund')),
    account     BLOB    NOT NULL REFERENCES accounts (id),
    cycle_start INTEGER NOT NULL,
    credits     INTEGER NOT NULL CHECK (credits >= 0),
    at          INTEGER NOT NULL,
    PRIMARY KEY (run, kind)
) STRICT, WITHOUT ROWID;

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
    reports         TEXT    NOT NULL
) STRICT;

CREATE INDEX runs_list ON runs (account, created_at DESC, id DESC);
CREATE INDEX runs_running ON runs (created_at, id) WHERE status = 'running';

CREATE TABLE results (
    run    BLOB    NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    id     INTEGER NOT NULL,
    -- A hash of (source, type, value).
    dedup  BLOB    NOT NULL CHECK (length(dedup) = 16),
    record TEXT    NOT NULL,
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
