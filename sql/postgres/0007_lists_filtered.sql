-- A list of one status or of one type reads what it shows, however many others there are between: without these an
-- account with a million searches that asks for the running ones reads all of them.
CREATE INDEX runs_by_status ON runs (account, status, created_at DESC, id DESC);
CREATE INDEX runs_by_type ON runs (account, search_type, created_at DESC, id DESC);
