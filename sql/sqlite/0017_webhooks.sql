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
