-- The next run that a driver takes: one that was interrupted, and then the queue.
CREATE INDEX runs_free ON runs (simulated, coalesce(turn, 0), created_at, id) WHERE status = 'running' AND owner IS NULL;
