-- How long the checks of a run may take: the options of the search, without those that have their default value.
ALTER TABLE runs ADD COLUMN options TEXT NOT NULL DEFAULT '{}';

-- How long the conclusive answers of the module took: counts of which each further answer takes a part.
ALTER TABLE module_health ADD COLUMN durations TEXT NOT NULL DEFAULT '{}';
