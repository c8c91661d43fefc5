-- No retry is free any more, and nothing reads whether a receiver is slow.
ALTER TABLE runs DROP COLUMN free_retry;
ALTER TABLE webhooks DROP COLUMN is_slow;

-- The normal form of the query, by which the runs with the same one are found. NULL where this version cannot read the
-- query. Earlier runs get what is the normal form of nearly all queries.
ALTER TABLE runs ADD COLUMN normal TEXT;
-- The numbers of the rows of a batch by state, and the time at which its first run was accepted.
ALTER TABLE batches ADD COLUMN pending INTEGER NOT NULL DEFAULT 0;
ALTER TABLE batches ADD COLUMN running INTEGER NOT NULL DEFAULT 0;
ALTER TABLE batches ADD COLUMN completed INTEGER NOT NULL DEFAULT 0;
ALTER TABLE batches ADD COLUMN failed INTEGER NOT NULL DEFAULT 0;
ALTER TABLE batches ADD COLUMN refused INTEGER NOT NULL DEFAULT 0;
ALTER TABLE batches ADD COLUMN skipped INTEGER NOT NULL DEFAULT 0;
ALTER TABLE batches ADD COLUMN began_at INTEGER;

UPDATE runs SET normal = CASE search_type
    WHEN 'username' THEN ltrim(trim(query), '@')
    WHEN 'email' THEN substr(trim(query), 1, strpos(trim(query), '@'))
        || lower(substr(trim(query), strpos(trim(query), '@') + 1))
    ELSE lower(trim(query)) END;
CREATE INDEX runs_normal ON runs (account, search_type, normal, created_at DESC, id DESC);

UPDATE batches SET
    pending = (SELECT count(*) FROM batch_rows w WHERE w.batch = batches.id AND w.state = 'pending'),
    refused = (SELECT count(*) FROM batch_rows w WHERE w.batch = batches.id AND w.state = 'refused'),
    skipped = (SELECT count(*) FROM batch_rows w WHERE w.batch = batches.id AND w.state = 'skipped'),
    running = (SELECT count(*) FROM runs r WHERE r.batch = batches.id AND r.status = 'running'),
    completed = (SELECT count(*) FROM runs r WHERE r.batch = batches.id AND r.status = 'completed'),
    failed = (SELECT count(*) FROM runs r WHERE r.batch = batches.id AND r.status = 'failed'),
    began_at = (SELECT min(r.created_at) FROM runs r WHERE r.batch = batches.id);
-- Many statements change what is counted, and those of an earlier version do, too.
CREATE TRIGGER batch_row_is_added AFTER INSERT ON batch_rows BEGIN
    UPDATE batches SET pending = pending + (NEW.state = 'pending') WHERE id = NEW.batch;
END;
CREATE TRIGGER batch_row_changes AFTER UPDATE OF state ON batch_rows BEGIN
    UPDATE batches SET
        pending = pending - (OLD.state = 'pending') + (NEW.state = 'pending'),
        refused = refused - (OLD.state = 'refused') + (NEW.state = 'refused'),
        skipped = skipped - (OLD.state = 'skipped') + (NEW.state = 'skipped')
    WHERE id = NEW.batch;
END;
CREATE TRIGGER batch_run_starts AFTER INSERT ON runs WHEN NEW.batch IS NOT NULL BEGIN
    UPDATE batches SET running = running + 1, began_at = coalesce(began_at, NEW.created_at) WHERE id = NEW.batch;
END;
CREATE TRIGGER batch_run_ends AFTER UPDATE OF status ON runs WHEN NEW.batch IS NOT NULL BEGIN
    UPDATE batches SET
        running = running - (OLD.status = 'running') + (NEW.status = 'running'),
        completed = completed - (OLD.status = 'completed') + (NEW.status = 'completed'),
        failed = failed - (OLD.status = 'failed') + (NEW.status = 'failed')
    WHERE id = NEW.batch;
END;
CREATE TRIGGER batch_run_is_deleted AFTER DELETE ON runs WHEN OLD.batch IS NOT NULL BEGIN
    UPDATE batches SET
        running = running - (OLD.status = 'running'),
        completed = completed - (OLD.status = 'completed'),
        failed = failed - (OLD.status = 'failed')
    WHERE id = OLD.batch;
END;
