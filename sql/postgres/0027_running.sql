-- Retention compares the clock with the last event instead.
DROP TABLE running;
