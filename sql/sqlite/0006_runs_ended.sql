-- Which runs are old enough to be removed. On its own: building it takes as long as there are runs, and the tables
-- that 0005 alters must not be locked for that time.
CREATE INDEX runs_ended ON runs (completed_at) WHERE completed_at IS NOT NULL;
