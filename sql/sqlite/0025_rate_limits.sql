-- The subjects of limits, over all instances: requests of an account, and attempts to sign in by email address or network.
-- Each is a hash. `due` (microseconds since 1970, by the clock of the database) is when the next request is due if one is
-- made after each period of the limit.
ALTER TABLE sign_in_attempts RENAME TO rate_limits;
UPDATE rate_limits SET due = due * 1000;
