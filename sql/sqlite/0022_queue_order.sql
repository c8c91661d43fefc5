-- The runs that wait for their first driver, in their order. It has all columns that counting needs, also those of its
-- own condition, since SQLite compares them again.
CREATE INDEX runs_queue ON runs (simulated, turn, created_at, id, account, status, owner)
    WHERE status = 'running' AND owner IS NULL AND turn IS NOT NULL;

-- The other runs that have not ended: they have a driver or were interrupted. Reading them does not read the queue.
-- An earlier version leaves the turn of a run that it takes over.
CREATE INDEX runs_begun ON runs (simulated, created_at, id)
    WHERE status = 'running' AND (turn IS NULL OR owner IS NOT NULL);
DROP INDEX runs_running;
