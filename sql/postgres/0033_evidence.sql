-- The judged answers of hits that a search keeps as evidence, and screenshots. The sources and the annotations of results name them.
CREATE TABLE evidence (
    run    uuid NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    sha256 text NOT NULL CHECK (length(sha256) = 64),
    -- Compressed with gzip.
    answer bytea NOT NULL,
    PRIMARY KEY (run, sha256)
);
ALTER TABLE evidence ALTER COLUMN answer SET STORAGE EXTERNAL;
ALTER TABLE annotations ADD COLUMN screenshot text;
