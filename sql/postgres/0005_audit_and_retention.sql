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

-- What was booked outlives its account: its id stays, and leads to nobody.
ALTER TABLE charges DROP CONSTRAINT charges_account_fkey;
ALTER TABLE credit_usage DROP CONSTRAINT credit_usage_account_fkey;

-- SHA-256 of the migration as it was applied.
ALTER TABLE schema_version ADD COLUMN checksum text;
