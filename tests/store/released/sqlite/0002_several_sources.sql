-- What else version 2 had. Never changes.
INSERT INTO schema_version VALUES(2,'0002_several_sources',1769990400000);
UPDATE runs SET revision = 2 WHERE id = X'019000000000700080000000000000d1';
UPDATE results SET revision = id WHERE run = X'019000000000700080000000000000d1';
