-- Since when servers have run on this database without a long pause, and when one was last seen, by their own clocks. One row.
CREATE TABLE running (
    id      INTEGER NOT NULL PRIMARY KEY CHECK (id = 1),
    since   INTEGER NOT NULL,
    last_at INTEGER NOT NULL
) STRICT;
