-- The runs that wait for their first driver, in their order. The account stands in it so that counting reads no row.
CREATE INDEX runs_queue ON runs (simulated, turn, created_at, id, account)
    WHERE status = 'running' AND owner IS NULL AND turn IS NOT NULL;

-- The other runs that have not ended: they have a driver or were interrupted. Reading them does not read the queue.
CREATE INDEX runs_driven ON runs (simulated, created_at, id) WHERE status = 'running' AND turn IS NULL;
DROP INDEX runs_running;
