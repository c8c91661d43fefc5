-- The web app. What stands in here goes with its account, also where an earlier version deletes that.

-- Who may see the operator's page.
ALTER TABLE accounts ADD COLUMN role TEXT NOT NULL DEFAULT 'user' CHECK (role IN ('user', 'operator'));

-- None: whoever owns the account has not used their set-up link yet.
CREATE TABLE passwords (
    account    BLOB    NOT NULL PRIMARY KEY REFERENCES accounts (id) ON DELETE CASCADE,
    -- A PHC string of Argon2id.
    hash       TEXT    NOT NULL,
    changed_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE web_sessions (
    id           BLOB    NOT NULL PRIMARY KEY,
    account      BLOB    NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    -- SHA-256 of what the cookie holds.
    token_hash   BLOB    NOT NULL UNIQUE CHECK (length(token_hash) = 32),
    -- What forms must bring back.
    csrf         BLOB    NOT NULL CHECK (length(csrf) = 32),
    created_at   INTEGER NOT NULL,
    last_seen_at INTEGER NOT NULL,
    -- By whichever comes first: nothing was seen for long, or it is old.
    expires_at   INTEGER NOT NULL,
    user_agent   TEXT    NOT NULL,
    address      TEXT    NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX web_sessions_account ON web_sessions (account, created_at, id);
CREATE INDEX web_sessions_expiry ON web_sessions (expires_at);

-- Links that set a password, each once; an account has one at most.
CREATE TABLE set_up_links (
    token_hash BLOB    NOT NULL PRIMARY KEY CHECK (length(token_hash) = 32),
    account    BLOB    NOT NULL UNIQUE REFERENCES accounts (id) ON DELETE CASCADE,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- How many attempts to sign in lately, by what they have in common: a hash of the email address or of the client's
-- network. `due` (milliseconds since 1970) moves ahead with each attempt; what is too far ahead is refused.
CREATE TABLE sign_in_attempts (
    subject BLOB    NOT NULL PRIMARY KEY CHECK (length(subject) = 32),
    due     INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
