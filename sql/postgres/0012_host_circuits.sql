-- The circuit breakers of hosts: hosts that gave no answer to the last checks, and those that answered again lately.
CREATE TABLE host_circuits (
    host        text        NOT NULL,
    -- Whether the host is one of the simulated web.
    simulated   boolean     NOT NULL,
    -- The time of the observation that changed the circuit. Of two changes, the later one is valid.
    changed_at  timestamptz NOT NULL,
    -- NULL in all of these: the circuit is closed.
    outcome     text,
    open_since  timestamptz,
    -- The wait before the next try, in milliseconds.
    wait_ms     bigint,
    next_try_at timestamptz,
    PRIMARY KEY (host, simulated)
);
