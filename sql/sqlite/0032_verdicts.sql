-- Whether a result belongs to the one who is searched, as the owner of the run has found. It was known only if it does not.
ALTER TABLE annotations ADD COLUMN verdict TEXT CHECK (verdict IN ('mine', 'unsure', 'not_mine'));
UPDATE annotations SET verdict = 'not_mine' WHERE not_this_person;
ALTER TABLE annotations DROP COLUMN not_this_person;
