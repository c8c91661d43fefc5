-- The modules in quarantine: modules that failed their last control checks, and those that passed one again lately.
CREATE TABLE module_quarantines (
    module      text        NOT NULL,
    -- Whether the control checks were made on the simulated web.
    simulated   boolean     NOT NULL,
    -- The time of the observation that put the module in quarantine or ended that. Of two changes, the later one is valid.
    changed_at  timestamptz NOT NULL,
    -- NULL in all of these: the module is asked. The cause is a document: the last failed control check.
    cause       text,
    open_since  timestamptz,
    -- The wait before the next try, in milliseconds.
    wait_ms     bigint,
    next_try_at timestamptz,
    PRIMARY KEY (module, simulated)
);
