-- A result may be found by several modules. `dedup` is from now on a hash of type, scope and canonical value;
-- rows of runs before this keep the one of (source, type, value) until they change.

-- Adding a column with a constant default rewrites no row: `runs` and `results` are locked for a moment, once every
-- transaction that uses them has ended. No index is built: a reader goes through the results of its run by id.

-- The write of its run, counted from 1, that added or changed the result last; 0: one of an earlier version.
ALTER TABLE results ADD COLUMN revision bigint NOT NULL DEFAULT 0;

-- The newest of these writes.
ALTER TABLE runs ADD COLUMN revision bigint NOT NULL DEFAULT 0;
