-- How many times a run was taken over: who drives it writes under the number that it got.
ALTER TABLE runs ADD COLUMN epoch bigint NOT NULL DEFAULT 0;

-- What an account was granted of each rate limit lately, over all instances. A grant counts for so many requests
-- from its moment on: moment (milliseconds since 1970, by the database's clock) * 2^20 + requests; oldest first.
CREATE TABLE rate_grants (
    account uuid     NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    policy  text     NOT NULL,
    grants  bigint[] NOT NULL,
    PRIMARY KEY (account, policy)
    -- Rows are updated again and again, and no update changes the key.
) WITH (fillfactor = 50);
