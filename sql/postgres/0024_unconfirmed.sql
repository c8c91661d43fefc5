-- Whether the caller may not know that the row was stored: the answer to its commit may have been lost. Such a run is
-- ended and refunded, and such a batch or watch is deleted, instead of being worked on.
ALTER TABLE runs ADD COLUMN unconfirmed boolean NOT NULL DEFAULT false;
ALTER TABLE batches ADD COLUMN unconfirmed boolean NOT NULL DEFAULT false;
ALTER TABLE watches ADD COLUMN unconfirmed boolean NOT NULL DEFAULT false;
CREATE INDEX runs_unconfirmed ON runs (created_at) WHERE unconfirmed;
CREATE INDEX batches_unconfirmed ON batches (created_at) WHERE unconfirmed;
CREATE INDEX watches_unconfirmed ON watches (created_at) WHERE unconfirmed;
-- The last turn of an account that has runs in the queue.
CREATE INDEX runs_turn ON runs (account, simulated, turn) WHERE status = 'running' AND owner IS NULL AND turn IS NOT NULL;
-- Whether any delivery is due.
CREATE INDEX webhook_deliveries_next ON webhook_deliveries (due_at) WHERE due_at IS NOT NULL;
