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

-- What was booked outlives its account: its id stays, and leads to nobody. A table is made anew to lose a
-- foreign key.
CREATE TABLE charges_kept (
    run         BLOB    NOT NULL,
    kind        TEXT    NOT NULL CHECK (kind IN ('charge', 'refund')),
    account     BLOB    NOT NULL,
    cycle_start INTEGER NOT NULL,
    credits     INTEGER NOT NULL CHECK (credits >= 0),
    at          INTEGER NOT NULL,
    PRIMARY KEY (run, kind)
) STRICT, WITHOUT ROWID;

INSERT INTO charges_kept (run, kind, account, cycle_start, credits, at)
    SELECT run, kind, account, cycle_start, credits, at FROM charges;
DROP TABLE charges;
ALTER TABLE charges_kept RENAME TO charges;

CREATE TABLE credit_usage_kept (
    account     BLOB    NOT NULL,
    cycle_start INTEGER NOT NULL,
    used        INTEGER NOT NULL CHECK (used >= 0),
    PRIMARY KEY (account, cycle_start)
) STRICT, WITHOUT ROWID;

INSERT INTO credit_usage_kept (account, cycle_start, used) SELECT account, cycle_start, used FROM credit_usage;
DROP TABLE credit_usage;
ALTER TABLE credit_usage_kept RENAME TO credit_usage;

-- SHA-256 of the migration as it was applied.
ALTER TABLE schema_version ADD COLUMN checksum TEXT;
