-- The modules in quarantine: modules that failed their last control checks, and those that passed one again lately.
CREATE TABLE module_quarantines (
    module      TEXT    NOT NULL,
    -- Whether the control checks were made on the simulated web.
    simulated   INTEGER NOT NULL,
    -- The time of the observation that put the module in quarantine or ended that. Of two changes, the later one is valid.
    changed_at  INTEGER NOT NULL,
    -- NULL in all of these: the module is asked. The cause is a document: the last failed control check.
    cause       TEXT,
    open_since  INTEGER,
    -- The wait before the next try, in milliseconds.
    wait_ms     INTEGER,
    next_try_at INTEGER,
    PRIMARY KEY (module, simulated)
) STRICT, WITHOUT ROWID;
