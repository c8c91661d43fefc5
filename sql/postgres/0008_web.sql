-- The web app. What stands in here goes with its account, also where an earlier version deletes that.

-- Who may see the operator's page.
ALTER TABLE accounts ADD COLUMN role text NOT NULL DEFAULT 'user' CHECK (role IN ('user', 'operator'));

-- None: whoever owns the account has not used their set-up link yet.
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
