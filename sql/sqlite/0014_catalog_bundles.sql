-- Signed catalogue bundles. The one with the greatest serial is in use. Going back to the one before it deletes it.
CREATE TABLE catalog_bundles (
    serial     INTEGER NOT NULL PRIMARY KEY,
    created_at INTEGER NOT NULL,
    -- The time at which the bundle was stored here.
    stored_at  INTEGER NOT NULL,
    -- The whole file with its signature.
    document   TEXT    NOT NULL
) STRICT;
