-- What the results of a run point to, as JSON: of runs that follow leads and have ended. Without it, it is read from the
-- results.
ALTER TABLE runs ADD COLUMN links text;
