-- The schema of version 23. It never changes: later changes are the numbered files of this folder.

CREATE TABLE schema_version (
    version    bigint NOT NULL PRIMARY KEY,
    name       text NOT NULL,
    applied_at timestamptz NOT NULL
);

-- Documents are `json`, not `jsonb`: `json` keeps the order of members and takes \u0000 in a string.
CREATE TABLE accounts (
    id         uuid        NOT NULL PRIMARY KEY,
    email      text        NOT NULL UNIQUE,
    plan       text        NOT NULL,
    anchor     timestamptz NOT NULL,
    created_at timestamptz NOT NULL,
    -- Who may see the operator's page.
    role text NOT NULL DEFAULT 'user' CHECK (role IN ('user', 'operator'))
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
    account     uuid        NOT NULL,
    cycle_start timestamptz NOT NULL,
    used        bigint      NOT NULL CHECK (used >= 0),
    PRIMARY KEY (account, cycle_start)
);

-- Why it was used. Rows are only ever added. They outlive their run and their account, so neither is a foreign key.
CREATE TABLE charges (
    run         uuid        NOT NULL,
    kind        text        NOT NULL CHECK (kind IN ('charge', 'refund')),
    account     uuid        NOT NULL,
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
    reports         json        NOT NULL,
    -- The newest of these writes.
    revision bigint NOT NULL DEFAULT 0,
    -- How many times a run was taken over: who drives it writes under the number that it got.
    epoch bigint NOT NULL DEFAULT 0,
    -- When a search was driven first.
    started_at timestamptz,
    -- Only where it waits for its first driver: it comes after all that wait with a lower turn, and all with the same one
    -- that are older. The runs of an account have turns that follow each other; the first one shares the lowest turn of all.
    turn bigint,
    -- How long the checks of a run may take: the options of the search, without those that have their default value.
    options json NOT NULL DEFAULT '{}',
    -- Runs that were started by following a lead of another run: all runs below one root are its family.
    -- NULL where nothing follows leads: depth, limits and choice of modules, a document. Each run of a family has the same.
    follow text,
    -- NULL for a run that no lead has started. The root may have been deleted since.
    root_run uuid,
    parent_run uuid,
    -- The number of leads between the root and the run.
    depth bigint NOT NULL DEFAULT 0,
    -- The accounts that were looked up in the run, a document.
    lookups text NOT NULL DEFAULT '[]',
    -- Of a root that follows leads: 'running' until no further lead will be followed, then 'completed', with a document.
    following text CHECK (following IN ('running', 'completed')),
    followed text,
    -- The watch that has started the run. It may have been deleted since.
    watch uuid,
    -- NULL for a run that is not of a batch.
    batch uuid,
    -- The time at which the owner stopped the run, or the following of its leads.
    stopped_at timestamptz,
    -- The run whose modules without a conclusion this one asks again. It may have been deleted since.
    retry_of uuid,
    -- The run that was the free retry of this one. It may have been deleted since.
    free_retry uuid,
    -- The choice of modules of the search, a document. NULL: all modules, or a run of an earlier version.
    choice text,
    -- What the owner notes about the run. The tags are a JSON array of texts without `"` and `\`, or NULL if there is none.
    tags text,
    note text
-- A live run is updated about once a second, and no update of its lease or its documents changes an indexed column: room
-- in the page keeps these updates away from the indexes.
) WITH (fillfactor = 70);

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
    run    uuid   NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    id     bigint NOT NULL,
    -- A hash of type, scope and canonical value: a result may be found by several modules.
    dedup  bytea  NOT NULL CHECK (length(dedup) = 16),
    record json   NOT NULL,
    -- The write of its run, counted from 1, that added or changed the result last.
    revision bigint NOT NULL DEFAULT 0,
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

-- What checks taught of each module: counts of which each further check takes a part, so that newer ones count
-- more. Processes add to them. Of modules that a catalogue no longer has, the row stays for when it is back.
CREATE TABLE module_health (
    module             text             NOT NULL,
    -- What the simulated web taught says nothing about the real one.
    simulated          boolean          NOT NULL,
    checks             bigint           NOT NULL,
    hit                double precision NOT NULL,
    miss               double precision NOT NULL,
    blocked            double precision NOT NULL,
    rate_limited       double precision NOT NULL,
    timeout            double precision NOT NULL,
    error              double precision NOT NULL,
    unreliable         double precision NOT NULL,
    -- Seconds, weighted, and the sum of the weights.
    latency_sum        double precision NOT NULL,
    latency_weight     double precision NOT NULL,
    last_checked_at    timestamptz,
    last_hit_at        timestamptz,
    last_conclusive_at timestamptz,
    -- How long the conclusive answers of the module took: counts of which each further answer takes a part.
    durations json NOT NULL DEFAULT '{}',
    PRIMARY KEY (module, simulated)
    -- Every row is updated again and again, and no update changes the key.
) WITH (fillfactor = 50);

-- What an account was granted of each rate limit lately, over all instances. A grant counts for so many requests
-- from its moment on: moment (milliseconds since 1970, by the database's clock) * 2^20 + requests; oldest first.
CREATE TABLE rate_grants (
    account uuid     NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    policy  text     NOT NULL,
    grants  bigint[] NOT NULL,
    PRIMARY KEY (account, policy)
    -- Rows are updated again and again, and no update changes the key.
) WITH (fillfactor = 50);

-- Who did what, when: never a query, a result, a key or an email address. Rows are only ever added, and the
-- database refuses everything else. They outlive what they speak of, so nothing in here is a foreign key.
CREATE TABLE audit (
    id       bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at       timestamptz NOT NULL,
    actor    text        NOT NULL CHECK (actor IN ('account', 'key', 'cli', 'system')),
    actor_id uuid        CHECK ((actor_id IS NULL) = (actor IN ('cli', 'system'))),
    action   text        NOT NULL,
    -- Whose account, key or run it was.
    account  uuid,
    -- The id of the key or run, the name of the migration.
    object   text,
    -- The request's id, as its answer carried it.
    request  text,
    detail   json
);

CREATE INDEX audit_account ON audit (account, id);
CREATE INDEX audit_at ON audit (at);

CREATE FUNCTION audit_is_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'the audit is append-only: % is refused', TG_OP USING ERRCODE = 'insufficient_privilege';
END
$$;

CREATE TRIGGER audit_is_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON audit
    FOR EACH STATEMENT EXECUTE FUNCTION audit_is_append_only();

-- Also for whoever replays a log of changes.
ALTER TABLE audit ENABLE ALWAYS TRIGGER audit_is_append_only;

-- The passwords of the web app. An account has none until its owner uses the set-up link.
CREATE TABLE passwords (
    account    uuid        NOT NULL PRIMARY KEY REFERENCES accounts (id) ON DELETE CASCADE,
    -- A PHC string of Argon2id.
    hash       text        NOT NULL,
    changed_at timestamptz NOT NULL
);

CREATE TABLE web_sessions (
    id           uuid        NOT NULL PRIMARY KEY,
    account      uuid        NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    -- SHA-256 of what the cookie holds.
    token_hash   bytea       NOT NULL UNIQUE CHECK (length(token_hash) = 32),
    -- What forms must bring back.
    csrf         bytea       NOT NULL CHECK (length(csrf) = 32),
    created_at   timestamptz NOT NULL,
    last_seen_at timestamptz NOT NULL,
    -- By whichever comes first: nothing was seen for long, or it is old.
    expires_at   timestamptz NOT NULL,
    user_agent   text        NOT NULL,
    address      text        NOT NULL
    -- Updated about once a minute while it is used.
) WITH (fillfactor = 80);

CREATE INDEX web_sessions_account ON web_sessions (account, created_at, id);
CREATE INDEX web_sessions_expiry ON web_sessions (expires_at);

-- Links that set a password, each once; an account has one at most.
CREATE TABLE set_up_links (
    token_hash bytea       NOT NULL PRIMARY KEY CHECK (length(token_hash) = 32),
    account    uuid        NOT NULL UNIQUE REFERENCES accounts (id) ON DELETE CASCADE,
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL
);

-- How many attempts to sign in lately, by what they have in common: a hash of the email address or of the client's
-- network. `due` (milliseconds since 1970) moves ahead with each attempt; what is too far ahead is refused.
CREATE TABLE sign_in_attempts (
    subject bytea  NOT NULL PRIMARY KEY CHECK (length(subject) = 32),
    due     bigint NOT NULL
) WITH (fillfactor = 50);

-- Since when servers have run on this database without a long pause, and when one was last seen, by their own clocks. One row.
CREATE TABLE running (
    id      bigint      NOT NULL PRIMARY KEY CHECK (id = 1),
    since   timestamptz NOT NULL,
    last_at timestamptz NOT NULL
);

-- The circuit breakers of hosts: hosts that gave no answer to the last checks, and those that answered again lately.
CREATE TABLE host_circuits (
    host        text        NOT NULL,
    -- Whether the host is one of the simulated web.
    simulated   boolean     NOT NULL,
    -- The time of the observation that changed the circuit. Of two changes, the later one is valid.
    changed_at  timestamptz NOT NULL,
    -- NULL in all of these: the circuit is closed.
    outcome     text,
    open_since  timestamptz,
    -- The wait before the next try, in milliseconds.
    wait_ms     bigint,
    next_try_at timestamptz,
    PRIMARY KEY (host, simulated)
);

-- The modules in quarantine: modules that failed their last control checks, and those that passed one again lately.
CREATE TABLE module_quarantines (
    module      text        NOT NULL,
    -- Whether the control checks were made on the simulated web.
    simulated   boolean     NOT NULL,
    -- The time of the observation that put the module in quarantine or ended that. Of two changes, the later one is valid.
    changed_at  timestamptz NOT NULL,
    -- NULL in all of these: the module is asked. The cause is a document: the last failed control check.
    cause       text,
    open_since  timestamptz,
    -- The wait before the next try, in milliseconds.
    wait_ms     bigint,
    next_try_at timestamptz,
    PRIMARY KEY (module, simulated)
);

-- Signed catalogue bundles. The one with the greatest serial is in use. Going back to the one before it deletes it.
CREATE TABLE catalog_bundles (
    serial     bigint      NOT NULL PRIMARY KEY,
    created_at timestamptz NOT NULL,
    -- The time at which the bundle was stored here.
    stored_at  timestamptz NOT NULL,
    -- The whole file with its signature.
    document   text        NOT NULL
);

-- The leads of a family for which a run was started. A row stays if that run is deleted, so that no lead is searched
-- twice and no limit is exceeded.
CREATE TABLE followed_leads (
    root   uuid NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    lead   uuid NOT NULL,
    -- 'verified' or 'stated'.
    class  text NOT NULL,
    run    uuid NOT NULL,
    parent uuid NOT NULL,
    PRIMARY KEY (root, lead)
);

-- The profile pictures of results: small PNGs that this service has drawn. They are deleted with their results.
CREATE TABLE thumbnails (
    run    uuid   NOT NULL,
    result bigint NOT NULL,
    png    bytea  NOT NULL CHECK (length(png) BETWEEN 1 AND 16384),
    PRIMARY KEY (run, result),
    FOREIGN KEY (run, result) REFERENCES results (run, id) ON DELETE CASCADE
);

-- Webhooks: addresses of customers that get a request when something happens to their searches.
CREATE TABLE webhooks (
    id             uuid        NOT NULL PRIMARY KEY,
    account        uuid        NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    url            text        NOT NULL,
    -- The names of the events that are sent, as a JSON array.
    events         text        NOT NULL,
    -- Encrypted with the operator's key.
    secret         bytea       NOT NULL CHECK (length(secret) = 60),
    -- The secret before the last rotation. Messages are signed with it too until that moment.
    earlier_secret bytea       CHECK (length(earlier_secret) = 60),
    earlier_until  timestamptz CHECK ((earlier_until IS NULL) = (earlier_secret IS NULL)),
    -- The reason why nothing is sent. NULL: the webhook is enabled.
    disabled       text        CHECK (disabled IN ('owner', 'gone', 'failing')),
    -- The first attempt that failed since the last success.
    failing_since  timestamptz,
    -- Whether the last attempt took long.
    is_slow        boolean     NOT NULL DEFAULT false,
    created_at     timestamptz NOT NULL
);

CREATE INDEX webhooks_account ON webhooks (account, created_at, id);

-- What is sent, or was. The id is the webhook-id of the message.
CREATE TABLE webhook_deliveries (
    id              uuid        NOT NULL PRIMARY KEY,
    webhook         uuid        NOT NULL REFERENCES webhooks (id) ON DELETE CASCADE,
    event           text        NOT NULL,
    body            text        NOT NULL,
    created_at      timestamptz NOT NULL,
    status          text        NOT NULL CHECK (status IN ('pending', 'delivered', 'failed')),
    -- The time of the next attempt. NULL: there will be none.
    due_at          timestamptz CHECK ((due_at IS NULL) = (status <> 'pending')),
    -- The time until which an instance holds the delivery to send it.
    held_until      timestamptz,
    -- The number of claims. A record of an attempt is refused if the delivery was claimed again.
    epoch           bigint      NOT NULL DEFAULT 0,
    attempts        bigint      NOT NULL DEFAULT 0,
    -- The last attempt.
    last_attempt_at timestamptz,
    http_status     bigint,
    error           text,
    latency_ms      bigint,
    head            text
) WITH (fillfactor = 70);

CREATE INDEX webhook_deliveries_due ON webhook_deliveries (webhook, due_at, id) WHERE due_at IS NOT NULL;
CREATE INDEX webhook_deliveries_list ON webhook_deliveries (webhook, id);
CREATE INDEX webhook_deliveries_age ON webhook_deliveries (created_at);

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
