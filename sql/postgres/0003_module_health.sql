-- What checks taught of each module: counts of which each further check takes a part, so that newer ones count
-- more. Processes add to them. Of modules that a catalogue no longer has, the row stays for when it is back.
CREATE TABLE module_health (
    module             text             NOT NULL,
    -- What the simulated web taught says nothing about the real one.
    simulated          boolean          NOT NULL,
    checks             bigint           NOT NULL,
    hit                double precision NOT NULL,
    miss               double precision NOT NULL,
    blocked            double precision NOT NULL,
    rate_limited       double precision NOT NULL,
    timeout            double precision NOT NULL,
    error              double precision NOT NULL,
    unreliable         double precision NOT NULL,
    -- Seconds, weighted, and the sum of the weights.
    latency_sum        double precision NOT NULL,
    latency_weight     double precision NOT NULL,
    last_checked_at    timestamptz,
    last_hit_at        timestamptz,
    last_conclusive_at timestamptz,
    PRIMARY KEY (module, simulated)
    -- Every row is updated again and again, and no update changes the key.
) WITH (fillfactor = 50);
