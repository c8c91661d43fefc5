-- The judged answers of hits that a search keeps as evidence, and screenshots. The sources and the annotations of results name them.
CREATE TABLE evidence (
    run    BLOB NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    sha256 TEXT NOT NULL CHECK (length(sha256) = 64),
    -- Compressed with gzip.
    answer BLOB NOT NULL,
    PRIMARY KEY (run, sha256)
) STRICT;
ALTER TABLE annotations ADD COLUMN screenshot TEXT;
