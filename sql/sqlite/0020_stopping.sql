-- The time at which the owner stopped the run, or the following of its leads.
ALTER TABLE runs ADD COLUMN stopped_at INTEGER;
-- The run whose modules without a conclusion this one asks again. It may have been deleted since.
ALTER TABLE runs ADD COLUMN retry_of BLOB;
-- The run that was the free retry of this one. It may have been deleted since.
ALTER TABLE runs ADD COLUMN free_retry BLOB;
