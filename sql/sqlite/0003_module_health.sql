-- What checks taught of each module: counts of which each further check takes a part, so that newer ones count
-- more. Processes add to them. Of modules that a catalogue no longer has, the row stays for when it is back.
CREATE TABLE module_health (
    module             TEXT    NOT NULL,
    -- What the simulated web taught says nothing about the real one.
    simulated          INTEGER NOT NULL CHECK (simulated IN (0, 1)),
    checks             INTEGER NOT NULL,
    hit                REAL    NOT NULL,
    miss               REAL    NOT NULL,
    blocked            REAL    NOT NULL,
    rate_limited       REAL    NOT NULL,
    timeout            REAL    NOT NULL,
    error              REAL    NOT NULL,
    unreliable         REAL    NOT NULL,
    -- Seconds, weighted, and the sum of the weights.
    latency_sum        REAL    NOT NULL,
    latency_weight     REAL    NOT NULL,
    last_checked_at    INTEGER,
    last_hit_at        INTEGER,
    last_conclusive_at INTEGER,
    PRIMARY KEY (module, simulated)
) STRICT, WITHOUT ROWID;
