-- How long the checks of a run may take: the options of the search, without those that have their default value.
ALTER TABLE runs ADD COLUMN options json NOT NULL DEFAULT '{}';

-- How long the conclusive answers of the module took: counts of which each further answer takes a part.
ALTER TABLE module_health ADD COLUMN durations json NOT NULL DEFAULT '{}';
