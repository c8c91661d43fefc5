-- Documents are `json`, not `jsonb`: `json` keeps the order of members and takes \u0000 in a string.

CREATE TABLE accounts (
    id         uuid        NOT NULL PRIMARY KEY,
    email      text        NOT NULL UNIQUE,
    plan       text        NOT NULL,
    anchor     timestamptz NOT NULL,
    created_at timestamptz NOT NULL
);

CREATE TABLE api_keys (
    id           uuid        NOT NULL PRIMARY KEY,
    account      uuid        NOT NULL REFERENCES accounts (id),
    hash         bytea       NOT NULL UNIQUE CHECK (length(hash) = 32),
    last_four    text        NOT NULL,
    label        text        NOT NULL,
    created_at   timestamptz NOT NULL,
    last_used_at timestamptz,
    revoked_at   timestamptz
);

CREATE INDEX api_keys_account ON api_keys (account, created_at, id);

-- What an account used in a billing cycle: the figure that a charge is held against.
CREATE TABLE credit_usage (
    account     uuid        NOT NULL REFERENCES accounts (id),
    cycle_start timestamptz NOT NULL,
    used        bigint      NOT NULL CHECK (used >= 0),
    PRIMARY KEY (account, cycle_start)
);

-- Why it was used. Rows are only ever added; they outlive their run, so `run` is no foreign key.
CREATE TABLE charges (
    run         uuid        NOT NULL,
    kind        text        NOT NULL CHECK (kind IN ('charge', 'refund')),
    account     uuid        NOT NULL REFERENCES accounts (id),
    cycle_start timestamptz NOT NULL,
    credits     bigint      NOT NULL CHECK (credits >= 0),
    at          timestamptz NOT NULL,
    PRIMARY KEY (run, kind)
);

CREATE TABLE runs (
    id              uuid        NOT NULL PRIMARY KEY,
    account         uuid        NOT NULL REFERENCES accounts (id),
    status          text        NOT NULL CHECK (status IN ('running', 'completed', 'failed')),
    search_type     text        NOT NULL,
    premium         boolean     NOT NULL,
    -- What the simulated web answered must never pass for the real one's answers.
    simulated       boolean     NOT NULL,
    total_results   bigint      NOT NULL DEFAULT 0,
    credits_charged bigint      NOT NULL,
    created_at      timestamptz NOT NULL,
    completed_at    timestamptz,
    owner           uuid,
    lease_until     timestamptz,
    query           text        NOT NULL,
    progress        json        NOT NULL,
    coverage        json        NOT NULL,
    error           json,
    planned         json        NOT NULL,
    reports         json        NOT NULL
    -- A live run is updated about once a second and no update of its lease or its documents changes an
    -- indexed column: room in the page keeps these updates away from the indexes.
) WITH (fillfactor = 70);

CREATE INDEX runs_list ON runs (account, created_at DESC, id DESC);
CREATE INDEX runs_running ON runs (created_at, id) WHERE status = 'running';

CREATE TABLE results (
    run    uuid   NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    id     bigint NOT NULL,
    -- A hash of (source, type, value).
    dedup  bytea  NOT NULL CHECK (length(dedup) = 16),
    record json   NOT NULL,
    PRIMARY KEY (run, id),
    UNIQUE (run, dedup)
);

CREATE TABLE idempotency_keys (
    account    uuid        NOT NULL REFERENCES accounts (id),
    key        text        NOT NULL,
    body_hash  bytea       NOT NULL CHECK (length(body_hash) = 32),
    run        uuid        NOT NULL UNIQUE,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (account, key)
);

CREATE INDEX idempotency_keys_age ON idempotency_keys (created_at);
