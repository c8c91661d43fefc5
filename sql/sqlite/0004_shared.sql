-- How many times a run was taken over: who drives it writes under the number that it got.
ALTER TABLE runs ADD COLUMN epoch INTEGER NOT NULL DEFAULT 0;
