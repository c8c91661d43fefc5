-- No retry is free any more, and nothing reads whether a receiver is slow.
ALTER TABLE runs DROP COLUMN free_retry;
ALTER TABLE webhooks DROP COLUMN is_slow;

-- The normal form of the query, by which the runs with the same one are found. NULL where this version cannot read the
-- query. Earlier runs get what is the normal form of nearly all queries.
ALTER TABLE runs ADD COLUMN normal text;
-- The numbers of the rows of a batch by state, and the time at which its first run was accepted.
ALTER TABLE batches ADD COLUMN pending bigint NOT NULL DEFAULT 0;
ALTER TABLE batches ADD COLUMN running bigint NOT NULL DEFAULT 0;
ALTER TABLE batches ADD COLUMN completed bigint NOT NULL DEFAULT 0;
ALTER TABLE batches ADD COLUMN failed bigint NOT NULL DEFAULT 0;
ALTER TABLE batches ADD COLUMN refused bigint NOT NULL DEFAULT 0;
ALTER TABLE batches ADD COLUMN skipped bigint NOT NULL DEFAULT 0;
ALTER TABLE batches ADD COLUMN began_at timestamptz;

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
CREATE FUNCTION count_added_rows_of_batch() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE batches SET pending = pending + (SELECT count(*) FROM added WHERE added.batch = batches.id)
    WHERE id IN (SELECT batch FROM added);
    RETURN NULL;
END
$$;
CREATE FUNCTION count_rows_of_batch() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE batches SET
        pending = pending - (OLD.state = 'pending')::int + (NEW.state = 'pending')::int,
        refused = refused - (OLD.state = 'refused')::int + (NEW.state = 'refused')::int,
        skipped = skipped - (OLD.state = 'skipped')::int + (NEW.state = 'skipped')::int
    WHERE id = NEW.batch;
    RETURN NULL;
END
$$;
CREATE FUNCTION count_runs_of_batch() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE batches SET
        began_at = coalesce(began_at, NEW.created_at),
        running = running - (OLD.status IS NOT DISTINCT FROM 'running')::int + (NEW.status IS NOT DISTINCT FROM 'running')::int,
        completed = completed - (OLD.status IS NOT DISTINCT FROM 'completed')::int + (NEW.status IS NOT DISTINCT FROM 'completed')::int,
        failed = failed - (OLD.status IS NOT DISTINCT FROM 'failed')::int + (NEW.status IS NOT DISTINCT FROM 'failed')::int
    WHERE id = coalesce(NEW.batch, OLD.batch);
    RETURN NULL;
END
$$;
CREATE TRIGGER batch_row_changes AFTER UPDATE OF state ON batch_rows
    FOR EACH ROW EXECUTE FUNCTION count_rows_of_batch();
CREATE TRIGGER batch_rows_are_added AFTER INSERT ON batch_rows REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION count_added_rows_of_batch();
CREATE TRIGGER batch_run_changes AFTER INSERT OR UPDATE OF status ON runs
    FOR EACH ROW WHEN (NEW.batch IS NOT NULL) EXECUTE FUNCTION count_runs_of_batch();
CREATE TRIGGER batch_run_is_deleted AFTER DELETE ON runs
    FOR EACH ROW WHEN (OLD.batch IS NOT NULL) EXECUTE FUNCTION count_runs_of_batch();
