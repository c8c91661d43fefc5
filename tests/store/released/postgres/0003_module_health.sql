-- What else version 3 had. Never changes.
INSERT INTO module_health VALUES ('github', false, 7, 2.5, 3.25, 0, 0, 1, 0, 0, 1.75, 5.5, '2026-03-01 12:00:00+00', '2026-03-01 11:00:00+00', NULL);
INSERT INTO schema_version VALUES (3, '0003_module_health', '2026-02-03 00:00:00+00');
