-- When a search was driven first.
ALTER TABLE runs ADD COLUMN started_at timestamptz;
UPDATE runs SET started_at = created_at WHERE status = 'running';

-- Only where it waits for its first driver: it comes after all that wait with a lower turn, and all with the same one
-- that are older. The runs of an account have turns that follow each other; the first one shares the lowest turn of all.
ALTER TABLE runs ADD COLUMN turn bigint;
