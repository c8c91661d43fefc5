-- No retry is free any more, and nothing reads whether a receiver is slow.
ALTER TABLE runs DROP COLUMN free_retry;
ALTER TABLE webhooks DROP COLUMN is_slow;
