-- What was learnt from searches, which instances share.
CREATE TABLE learnt (
    -- 'host' and 'quarantine': the breaker of a host or a module, whose latest change is valid. 'deadline': the tally of a
    -- module's checks. 'day': the number of checks of a module with a daily limit in the 24 hours since `changed_at`.
    kind       text        NOT NULL,
    -- What the simulated web taught says nothing about the real one.
    simulated  boolean     NOT NULL,
    -- The host or the id of the module.
    name       text        NOT NULL,
    -- The time of the last write, by the clock of the database.
    changed_at timestamptz NOT NULL,
    document   json        NOT NULL,
    PRIMARY KEY (kind, simulated, name)
    -- Every row is updated again and again, and no update changes the key.
) WITH (fillfactor = 50);

INSERT INTO learnt SELECT 'host', simulated, host, changed_at, json_build_object(
    'changed_at', CAST(extract(epoch FROM changed_at) * 1000 AS bigint),
    'opening', json_build_object(
        'failures', 3,
        'cause', json_build_object('check', outcome),
        'since', CAST(extract(epoch FROM open_since) * 1000 AS bigint),
        'wait', json_build_object('secs', wait_ms / 1000, 'nanos', wait_ms % 1000 * 1000000),
        'next_try', CAST(extract(epoch FROM next_try_at) * 1000 AS bigint)))
FROM host_circuits WHERE open_since IS NOT NULL;

INSERT INTO learnt SELECT 'quarantine', simulated, module, changed_at, json_build_object(
    'changed_at', CAST(extract(epoch FROM changed_at) * 1000 AS bigint),
    'opening', json_build_object(
        'failures', CAST(cause AS json) -> 'failures',
        'cause', json_build_object('control', CAST(cause AS json)),
        'since', CAST(extract(epoch FROM open_since) * 1000 AS bigint),
        'wait', json_build_object('secs', wait_ms / 1000, 'nanos', wait_ms % 1000 * 1000000),
        'next_try', CAST(extract(epoch FROM next_try_at) * 1000 AS bigint)))
FROM module_quarantines WHERE open_since IS NOT NULL;

INSERT INTO learnt SELECT 'deadline', simulated, module, coalesce(last_checked_at, to_timestamp(0)), CAST(jsonb_build_object(
    'checks', checks,
    'outcomes', jsonb_build_array(hit, miss, blocked, rate_limited, timeout, error, unreliable, 0.0),
    'latency', jsonb_build_array(latency_sum, latency_weight),
    'last_checked', CAST(extract(epoch FROM last_checked_at) * 1000 AS bigint),
    'last_hit', CAST(extract(epoch FROM last_hit_at) * 1000 AS bigint),
    'last_conclusive', CAST(extract(epoch FROM last_conclusive_at) * 1000 AS bigint))
    || CAST(durations AS jsonb) AS json)
FROM module_health;

DROP TABLE host_circuits;
DROP TABLE module_quarantines;
DROP TABLE module_health;
