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
