-- What was learnt from searches, which instances share.
CREATE TABLE learnt (
    -- 'host' and 'quarantine': the breaker of a host or a module, whose latest change is valid. 'deadline': the tally of a
    -- module's checks. 'day': the number of checks of a module with a daily limit in the 24 hours since `changed_at`.
    kind       TEXT    NOT NULL,
    -- What the simulated web taught says nothing about the real one.
    simulated  INTEGER NOT NULL CHECK (simulated IN (0, 1)),
    -- The host or the id of the module.
    name       TEXT    NOT NULL,
    -- The time of the last write, by the clock of the database.
    changed_at INTEGER NOT NULL,
    document   TEXT    NOT NULL,
    PRIMARY KEY (kind, simulated, name)
) STRICT, WITHOUT ROWID;

INSERT INTO learnt SELECT 'host', simulated, host, changed_at, json_object(
    'changed_at', changed_at,
    'opening', json_object(
        'failures', 3,
        'cause', json_object('check', outcome),
        'since', open_since,
        'wait', json_object('secs', wait_ms / 1000, 'nanos', wait_ms % 1000 * 1000000),
        'next_try', next_try_at))
FROM host_circuits WHERE open_since IS NOT NULL;

INSERT INTO learnt SELECT 'quarantine', simulated, module, changed_at, json_object(
    'changed_at', changed_at,
    'opening', json_object(
        'failures', cause -> 'failures',
        'cause', json_object('control', json(cause)),
        'since', open_since,
        'wait', json_object('secs', wait_ms / 1000, 'nanos', wait_ms % 1000 * 1000000),
        'next_try', next_try_at))
FROM module_quarantines WHERE open_since IS NOT NULL;

INSERT INTO learnt SELECT 'deadline', simulated, module, coalesce(last_checked_at, 0), json_patch(json_object(
    'checks', checks,
    'outcomes', json_array(hit, miss, blocked, rate_limited, timeout, error, unreliable, 0.0),
    'latency', json_array(latency_sum, latency_weight),
    'last_checked', last_checked_at,
    'last_hit', last_hit_at,
    'last_conclusive', last_conclusive_at), durations)
FROM module_health;

DROP TABLE host_circuits;
DROP TABLE module_quarantines;
DROP TABLE module_health;
