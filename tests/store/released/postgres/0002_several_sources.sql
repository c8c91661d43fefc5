-- What else version 2 had. Never changes.
INSERT INTO schema_version VALUES (2, '0002_several_sources', '2026-02-02 00:00:00+00');
UPDATE runs SET revision = 2 WHERE id = '01900000-0000-7000-8000-0000000000d1';
UPDATE results SET revision = id WHERE run = '01900000-0000-7000-8000-0000000000d1';
