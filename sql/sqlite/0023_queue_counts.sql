-- The runs that wait for their first driver, in their order. The index has all columns that counting needs, also those
-- of its own condition, since SQLite compares them again.
DROP INDEX runs_queue;
CREATE INDEX runs_queue ON runs (simulated, turn, created_at, id, account, status, owner)
    WHERE status = 'running' AND owner IS NULL AND turn IS NOT NULL;

-- The other runs that have not ended: they have a driver or were interrupted. A version before the schema 0022 leaves the
-- turn of a run that it takes over. An earlier text of 0022 made this index already.
DROP INDEX IF EXISTS runs_driven;
DROP INDEX IF EXISTS runs_begun;
CREATE INDEX runs_begun ON runs (simulated, created_at, id)
    WHERE status = 'running' AND (turn IS NULL OR owner IS NOT NULL);
