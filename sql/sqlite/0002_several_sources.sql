-- A result may be found by several modules. `dedup` is from now on a hash of type, scope and canonical value;
-- rows of runs before this keep the one of (source, type, value) until they change.

-- The write of its run, counted from 1, that added or changed the result last; 0: one of an earlier version.
ALTER TABLE results ADD COLUMN revision INTEGER NOT NULL DEFAULT 0;

-- The newest of these writes.
ALTER TABLE runs ADD COLUMN revision INTEGER NOT NULL DEFAULT 0;
