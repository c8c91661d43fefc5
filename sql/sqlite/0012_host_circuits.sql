-- The circuit breakers of hosts: hosts that gave no answer to the last checks, and those that answered again lately.
CREATE TABLE host_circuits (
    host        TEXT    NOT NULL,
    -- Whether the host is one of the simulated web.
    simulated   INTEGER NOT NULL,
    -- The time of the observation that changed the circuit. Of two changes, the later one is valid.
    changed_at  INTEGER NOT NULL,
    -- NULL in all of these: the circuit is closed.
    outcome     TEXT,
    open_since  INTEGER,
    -- The wait before the next try, in milliseconds.
    wait_ms     INTEGER,
    next_try_at INTEGER,
    PRIMARY KEY (host, simulated)
) STRICT, WITHOUT ROWID;
