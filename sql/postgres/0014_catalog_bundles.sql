-- Signed catalogue bundles. The one with the greatest serial is in use. Going back to the one before it deletes it.
CREATE TABLE catalog_bundles (
    serial     bigint      NOT NULL PRIMARY KEY,
    created_at timestamptz NOT NULL,
    -- The time at which the bundle was stored here.
    stored_at  timestamptz NOT NULL,
    -- The whole file with its signature.
    document   text        NOT NULL
);
