-- Since when servers have run on this database without a long pause, and when one was last seen, by their own clocks. One row.
CREATE TABLE running (
    id      bigint      NOT NULL PRIMARY KEY CHECK (id = 1),
    since   timestamptz NOT NULL,
    last_at timestamptz NOT NULL
);
