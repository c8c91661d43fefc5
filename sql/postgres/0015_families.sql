-- Runs that were started by following a lead of another run: all runs below one root are its family.
-- NULL where nothing follows leads: depth, limits and choice of modules, a document. Each run of a family has the same.
ALTER TABLE runs ADD COLUMN follow text;
-- NULL for a run that no lead has started. The root may have been deleted since.
ALTER TABLE runs ADD COLUMN root_run uuid;
ALTER TABLE runs ADD COLUMN parent_run uuid;
-- The number of leads between the root and the run.
ALTER TABLE runs ADD COLUMN depth bigint NOT NULL DEFAULT 0;
-- The accounts that were looked up in the run, a document.
ALTER TABLE runs ADD COLUMN lookups text NOT NULL DEFAULT '[]';
-- Of a root that follows leads: 'running' until no further lead will be followed, then 'completed', with a document.
ALTER TABLE runs ADD COLUMN following text CHECK (following IN ('running', 'completed'));
ALTER TABLE runs ADD COLUMN followed text;

CREATE INDEX runs_family ON runs (root_run, created_at, id) WHERE root_run IS NOT NULL;
CREATE INDEX runs_following ON runs (id) WHERE following = 'running';

-- The leads of a family for which a run was started. A row stays if that run is deleted, so that no lead is searched
-- twice and no limit is exceeded.
CREATE TABLE followed_leads (
    root   uuid NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    lead   uuid NOT NULL,
    -- 'verified' or 'stated'.
    class  text NOT NULL,
    run    uuid NOT NULL,
    parent uuid NOT NULL,
    PRIMARY KEY (root, lead)
);
