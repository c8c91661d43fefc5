-- The profile pictures of results: small PNGs that this service has drawn. They are deleted with their results.
CREATE TABLE thumbnails (
    run    uuid   NOT NULL,
    result bigint NOT NULL,
    png    bytea  NOT NULL CHECK (length(png) BETWEEN 1 AND 16384),
    PRIMARY KEY (run, result),
    FOREIGN KEY (run, result) REFERENCES results (run, id) ON DELETE CASCADE
);
