-- What else version 3 had. Never changes.
INSERT INTO schema_version VALUES(3,'0003_module_health',1770076800000);
INSERT INTO module_health VALUES('github',0,7,2.5,3.25,0.0,0.0,1.0,0.0,0.0,1.75,5.5,1772366400000,1772362800000,NULL);
