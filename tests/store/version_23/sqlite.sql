-- A database of version 23 with rows in every table, written by sqlite3's .dump.
PRAGMA foreign_keys = OFF;
BEGIN TRANSACTION;
CREATE TABLE schema_version (
    version INTEGER NOT NULL PRIMARY KEY, name TEXT NOT NULL, applied_at INTEGER NOT NULL, checksum TEXT) STRICT;
INSERT INTO schema_version VALUES(1,'0001_foundation',1795794311157,'21ea928401ff7402e05ba3c21795f2df221e341e26e613c3bf4f11eafbd8489d');
INSERT INTO schema_version VALUES(2,'0002_several_sources',1795794311166,'615f608314fcc949a4052b34bd28c05f554990e3762c081a7ef41f9701e0fef5');
INSERT INTO schema_version VALUES(3,'0003_module_health',1795794311194,'5a8f6e6a0b39463e902e946a9e6a75ae412102fa296c7900938b46a4c249fc9a');
INSERT INTO schema_version VALUES(4,'0004_shared',1795794311195,'31b91f52c010c6741da93b188756d19d3bfb1f9609f6233c299e1d68f9e13aa0');
INSERT INTO schema_version VALUES(5,'0005_audit_and_retention',1795794311195,'d0acb893a3b2d93fa0921a34dd67a997f153eaa91ae753d0c93227a9463a3127');
INSERT INTO schema_version VALUES(6,'0006_runs_ended',1795794311204,'d408ba5366158faeaea27217b79feff292df77209281db629209631a68d100ba');
INSERT INTO schema_version VALUES(7,'0007_lists_filtered',1795794311206,'492960a33ddf62decdc4c8221e36ef4695a80fa827fbeff214e771ea5253bdf0');
INSERT INTO schema_version VALUES(8,'0008_web',1795794311209,'a7e59a15796eadb60f88a4db98152167918ce0b9b3e88053dc240e480f25ce45');
INSERT INTO schema_version VALUES(9,'0009_queue',1795794311214,'1b299fa8701f45468c5e0a7c8dd8d4f7f92611cd8e5c22b258911cf842cad254');
INSERT INTO schema_version VALUES(10,'0010_running',1795794311216,'995aaa2b70b18f3c3ab30c34ecd4457c8105d2f361b3f5eb39c9934663adacae');
INSERT INTO schema_version VALUES(11,'0011_deadlines',1795794311221,'db913f5c18732577f4607deffc07cf4153e8f21479e53207ef613fc38b863e6e');
INSERT INTO schema_version VALUES(12,'0012_host_circuits',1795794311228,'bd29386d02b470023f9a51a539e7660f006cffdbac66e4593b65bf75bfb8a651');
INSERT INTO schema_version VALUES(13,'0013_module_quarantines',1795794311229,'b2ea025e995663d2774d9c537c85e68e3aa3285838ddbecec14981a41555dfc3');
INSERT INTO schema_version VALUES(14,'0014_catalog_bundles',1795794311232,'7ee089ebc9e0f3619918cc464158e51b515939684b20d92bddbd340330b9480a');
INSERT INTO schema_version VALUES(15,'0015_families',1795794311237,'3e565a2e19f6beead77e9ccf595c6e1df571c136057a2c75d3334c197c66b414');
INSERT INTO schema_version VALUES(16,'0016_thumbnails',1795794311240,'2e7308ba61b00a9ad9288b071f211a519c8be1e039df93302775923558a659ca');
INSERT INTO schema_version VALUES(17,'0017_webhooks',1795794311241,'3a83c95cc6c211de59015ece42aa4e4ba24d88aa17ef0800d5a40cddbe4b56d7');
INSERT INTO schema_version VALUES(18,'0018_watches',1795794311244,'e265663dfad9a1a503c7512619e2bf3fa385733a721fdcb4ad278b9e1b228b0a');
INSERT INTO schema_version VALUES(19,'0019_batches',1795794311248,'b577c482d769f105594aaa3731b9115def260d130997e48554eea2794401bb08');
INSERT INTO schema_version VALUES(20,'0020_stopping',1795794311249,'9374905828a32cfeff76c6d196f480e31628adeaced2be7857b995e53d81494f');
INSERT INTO schema_version VALUES(21,'0021_notes',1795794311251,'13e05dd4ac6149e09267c8476caed24f8e002f465b443dab3572541a5f205bce');
INSERT INTO schema_version VALUES(22,'0022_queue_order',1795794311255,'7850d37a0bdf21bcd906be6d8e0db305cfd84a48d6a58a67fd554e798fb07321');
INSERT INTO schema_version VALUES(23,'0023_queue_counts',1795794311256,'5e1d5e51105779012c742341f2fff1c47a975011731b8b9581ddad2d1931d0ce');
CREATE TABLE accounts (
    id         BLOB    NOT NULL PRIMARY KEY,
    email      TEXT    NOT NULL UNIQUE,
    plan       TEXT    NOT NULL,
    anchor     INTEGER NOT NULL,
    created_at INTEGER NOT NULL
, role TEXT NOT NULL DEFAULT 'user' CHECK (role IN ('user', 'operator'))) STRICT, WITHOUT ROWID;
INSERT INTO accounts VALUES(X'0190000000007000800000000000000a','owner@example.com','pro',1769853600001,1769853600001,'operator');
INSERT INTO accounts VALUES(X'0190000000007000800000000000000b','zoë@example.com','free',1769853600001,1769853600001,'user');
CREATE TABLE api_keys (
    id           BLOB    NOT NULL PRIMARY KEY,
    account      BLOB    NOT NULL REFERENCES accounts (id),
    hash         BLOB    NOT NULL UNIQUE CHECK (length(hash) = 32),
    last_four    TEXT    NOT NULL,
    label        TEXT    NOT NULL,
    created_at   INTEGER NOT NULL,
    last_used_at INTEGER,
    revoked_at   INTEGER
) STRICT, WITHOUT ROWID;
INSERT INTO api_keys VALUES(X'019000000000700080000000000000c1',X'0190000000007000800000000000000a',X'1111111111111111111111111111111111111111111111111111111111111111','Ab12','Läptop 💻',1769857200000,1772366400000,NULL);
INSERT INTO api_keys VALUES(X'019000000000700080000000000000c2',X'0190000000007000800000000000000a',X'2222222222222222222222222222222222222222222222222222222222222222','Zz99','old',1769857200000,1769947200000,1769990400007);
CREATE TABLE runs (
    id              BLOB    NOT NULL PRIMARY KEY,
    account         BLOB    NOT NULL REFERENCES accounts (id),
    status          TEXT    NOT NULL CHECK (status IN ('running', 'completed', 'failed')),
    search_type     TEXT    NOT NULL,
    premium         INTEGER NOT NULL CHECK (premium IN (0, 1)),
    -- What the simulated web answered must never pass for the real one's answers.
    simulated       INTEGER NOT NULL CHECK (simulated IN (0, 1)),
    total_results   INTEGER NOT NULL DEFAULT 0,
    credits_charged INTEGER NOT NULL,
    created_at      INTEGER NOT NULL,
    completed_at    INTEGER,
    owner           BLOB,
    lease_until     INTEGER,
    query           TEXT    NOT NULL,
    progress        TEXT    NOT NULL,
    coverage        TEXT    NOT NULL,
    error           TEXT,
    planned         TEXT    NOT NULL,
    reports         TEXT    NOT NULL
, revision INTEGER NOT NULL DEFAULT 0, epoch INTEGER NOT NULL DEFAULT 0, started_at INTEGER, turn INTEGER, options TEXT NOT NULL DEFAULT '{}', follow TEXT, root_run BLOB, parent_run BLOB, depth INTEGER NOT NULL DEFAULT 0, lookups TEXT NOT NULL DEFAULT '[]', following TEXT CHECK (following IN ('running', 'completed')), followed TEXT, watch BLOB, batch BLOB, stopped_at INTEGER, retry_of BLOB, free_retry BLOB, choice TEXT, tags TEXT, note TEXT) STRICT;
INSERT INTO runs VALUES(X'019000000000700080000000000000d1',X'0190000000007000800000000000000a','completed','username',0,0,2,1,1772366400123,1772366460250,NULL,NULL,' @Someone ’ 名前','{"modules_total":2,"modules_completed":2,"modules_with_hits":1}','{"checked": 2, "conclusive": 1, "hit": 1, "miss": 0, "blocked": 0, "rate_limited": 0, "timeout": 1, "error": 0, "unreliable": 0, "skipped": 0, "ratio": 0.5}',NULL,'[]','[["github","GitHub","hit",null,200,345],["mastodon","Mastodon","timeout","timeout_connect",null,10000]]',2,0,NULL,NULL,'{}','{"depth":1,"max_searches":5,"links":"verified"}',NULL,NULL,0,'[]','completed','{"leads":{"followed":1,"not_followed":0}}',NULL,NULL,NULL,NULL,NULL,NULL,'["case-7"]','called back');
INSERT INTO runs VALUES(X'019000000000700080000000000000d2',X'0190000000007000800000000000000a','failed','username',1,0,0,0,1772366401000,1772366520000,NULL,NULL,'nobody','{"modules_total":1,"modules_completed":1,"modules_with_hits":0}','{"checked": 2, "conclusive": 1, "hit": 1, "miss": 0, "blocked": 0, "rate_limited": 0, "timeout": 1, "error": 0, "unreliable": 0, "skipped": 0, "ratio": 0.5}','{"code":"no_conclusion","message":"no module came to a conclusion"}','["github"]','[["github","GitHub","error","dns",null,12]]',2,0,NULL,NULL,'{}',NULL,NULL,NULL,0,'[]',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO runs VALUES(X'019000000000700080000000000000d3',X'0190000000007000800000000000000a','running','email',0,0,1,1,1772366402000,NULL,X'019000000000700080000000000000e1',1772366432000,'me@example.com','{"modules_total":2,"modules_completed":1,"modules_with_hits":1}','{"checked": 2, "conclusive": 1, "hit": 1, "miss": 0, "blocked": 0, "rate_limited": 0, "timeout": 1, "error": 0, "unreliable": 0, "skipped": 0, "ratio": 0.5}',NULL,'["gravatar","keybase"]','[["gravatar","Gravatar","hit",null,200,80]]',2,3,1772366402023,NULL,'{}',NULL,NULL,NULL,0,'[]',NULL,NULL,NULL,X'019000000000700080000000000000b1',NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO runs VALUES(X'019000000000700080000000000000d4',X'0190000000007000800000000000000a','running','username',0,0,0,1,1772366403000,NULL,NULL,NULL,'waiting','{"modules_total":2,"modules_completed":0,"modules_with_hits":0}','{}',NULL,'["github","mastodon"]','[]',0,0,NULL,1,'{}',NULL,NULL,NULL,0,'[]',NULL,NULL,X'019000000000700080000000000000f1',NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO runs VALUES(X'019000000000700080000000000000d5',X'0190000000007000800000000000000a','completed','username',0,0,0,1,1772366404000,1772366409123,NULL,NULL,'lead','{"modules_total":2,"modules_completed":2,"modules_with_hits":1}','{"checked": 2, "conclusive": 1, "hit": 1, "miss": 0, "blocked": 0, "rate_limited": 0, "timeout": 1, "error": 0, "unreliable": 0, "skipped": 0, "ratio": 0.5}',NULL,'[]','[["github","GitHub","hit",null,200,345],["mastodon","Mastodon","timeout","timeout_connect",null,10000]]',2,0,NULL,NULL,'{}',NULL,X'019000000000700080000000000000d1',X'019000000000700080000000000000d1',1,'[]',NULL,NULL,NULL,NULL,NULL,NULL,NULL,'{}',NULL,NULL);
CREATE TABLE results (
    run    BLOB    NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    id     INTEGER NOT NULL,
    -- A hash of (source, type, value).
    dedup  BLOB    NOT NULL CHECK (length(dedup) = 16),
    record TEXT    NOT NULL, revision INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (run, id),
    UNIQUE (run, dedup)
) STRICT, WITHOUT ROWID;
INSERT INTO results VALUES(X'019000000000700080000000000000d1',1,X'a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1','{"id": 1, "type": "profile", "entity_type": "profile", "platform": "GitHub", "value": "https://github.com/someone", "confidence": 0.87, "source": "github", "metadata": {"bio": "a\u0000b “quoted”", "followers": 12}, "created_at": "2026-03-01T12:00:01.500Z"}',1);
INSERT INTO results VALUES(X'019000000000700080000000000000d1',2,X'a2a2a2a2a2a2a2a2a2a2a2a2a2a2a2a2','{"id": 2, "type": "account", "entity_type": "account", "platform": null, "value": null, "confidence": 0.87, "source": "github", "metadata": {}, "created_at": "2026-03-01T12:00:01.500Z"}',2);
INSERT INTO results VALUES(X'019000000000700080000000000000d3',1,X'a3a3a3a3a3a3a3a3a3a3a3a3a3a3a3a3','{"id": 1, "type": "profile", "entity_type": "profile", "platform": "Gravatar", "value": "me", "confidence": 0.87, "source": "gravatar", "metadata": {"nested": {"list": [1, 2, {"x": null}]}}, "created_at": "2026-03-01T12:00:01.500Z"}',1);
CREATE TABLE idempotency_keys (
    account    BLOB    NOT NULL REFERENCES accounts (id),
    key        TEXT    NOT NULL,
    body_hash  BLOB    NOT NULL CHECK (length(body_hash) = 32),
    run        BLOB    NOT NULL UNIQUE,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (account, key)
) STRICT, WITHOUT ROWID;
INSERT INTO idempotency_keys VALUES(X'0190000000007000800000000000000a','key-1',X'0707070707070707070707070707070707070707070707070707070707070707',X'019000000000700080000000000000d1',1772366400123);
CREATE TABLE module_health (
    module             TEXT    NOT NULL,
    -- What the simulated web taught says nothing about the real one.
    simulated          INTEGER NOT NULL CHECK (simulated IN (0, 1)),
    checks             INTEGER NOT NULL,
    hit                REAL    NOT NULL,
    miss               REAL    NOT NULL,
    blocked            REAL    NOT NULL,
    rate_limited       REAL    NOT NULL,
    timeout            REAL    NOT NULL,
    error              REAL    NOT NULL,
    unreliable         REAL    NOT NULL,
    -- Seconds, weighted, and the sum of the weights.
    latency_sum        REAL    NOT NULL,
    latency_weight     REAL    NOT NULL,
    last_checked_at    INTEGER,
    last_hit_at        INTEGER,
    last_conclusive_at INTEGER, durations TEXT NOT NULL DEFAULT '{}',
    PRIMARY KEY (module, simulated)
) STRICT, WITHOUT ROWID;
INSERT INTO module_health VALUES('github',0,7,2.5,3.25,0.0,0.0,1.0,0.0,0.0,1.75,5.5,1772366400000,1772362800000,NULL,'{"counted":6,"weights":{"3":4.75},"in_vain":{"9":0.25},"is_waiting":false,"answered_at":[1772366400000,1772366400000,1772366400000,1772366400000,1772366400000]}');
CREATE TABLE audit (
    id       INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT CHECK (id > 0),
    at       INTEGER NOT NULL,
    actor    TEXT    NOT NULL CHECK (actor IN ('account', 'key', 'cli', 'system')),
    actor_id BLOB    CHECK ((actor_id IS NULL) = (actor IN ('cli', 'system'))),
    action   TEXT    NOT NULL,
    -- Whose account, key or run it was.
    account  BLOB,
    -- The id of the key or run, the name of the migration.
    object   TEXT,
    -- The request's id, as its answer carried it.
    request  TEXT,
    detail   TEXT
) STRICT;
INSERT INTO audit VALUES(1,1795794311195,'cli',NULL,'schema.migrated',NULL,'0005_audit_and_retention',NULL,'{"version":5}');
INSERT INTO audit VALUES(2,1795794311204,'cli',NULL,'schema.migrated',NULL,'0006_runs_ended',NULL,'{"version":6}');
INSERT INTO audit VALUES(3,1795794311206,'cli',NULL,'schema.migrated',NULL,'0007_lists_filtered',NULL,'{"version":7}');
INSERT INTO audit VALUES(4,1795794311209,'cli',NULL,'schema.migrated',NULL,'0008_web',NULL,'{"version":8}');
INSERT INTO audit VALUES(5,1795794311214,'cli',NULL,'schema.migrated',NULL,'0009_queue',NULL,'{"version":9}');
INSERT INTO audit VALUES(6,1795794311216,'cli',NULL,'schema.migrated',NULL,'0010_running',NULL,'{"version":10}');
INSERT INTO audit VALUES(7,1795794311221,'cli',NULL,'schema.migrated',NULL,'0011_deadlines',NULL,'{"version":11}');
INSERT INTO audit VALUES(8,1795794311228,'cli',NULL,'schema.migrated',NULL,'0012_host_circuits',NULL,'{"version":12}');
INSERT INTO audit VALUES(9,1795794311229,'cli',NULL,'schema.migrated',NULL,'0013_module_quarantines',NULL,'{"version":13}');
INSERT INTO audit VALUES(10,1795794311232,'cli',NULL,'schema.migrated',NULL,'0014_catalog_bundles',NULL,'{"version":14}');
INSERT INTO audit VALUES(11,1795794311237,'cli',NULL,'schema.migrated',NULL,'0015_families',NULL,'{"version":15}');
INSERT INTO audit VALUES(12,1795794311240,'cli',NULL,'schema.migrated',NULL,'0016_thumbnails',NULL,'{"version":16}');
INSERT INTO audit VALUES(13,1795794311241,'cli',NULL,'schema.migrated',NULL,'0017_webhooks',NULL,'{"version":17}');
INSERT INTO audit VALUES(14,1795794311244,'cli',NULL,'schema.migrated',NULL,'0018_watches',NULL,'{"version":18}');
INSERT INTO audit VALUES(15,1795794311248,'cli',NULL,'schema.migrated',NULL,'0019_batches',NULL,'{"version":19}');
INSERT INTO audit VALUES(16,1795794311249,'cli',NULL,'schema.migrated',NULL,'0020_stopping',NULL,'{"version":20}');
INSERT INTO audit VALUES(17,1795794311251,'cli',NULL,'schema.migrated',NULL,'0021_notes',NULL,'{"version":21}');
INSERT INTO audit VALUES(18,1795794311255,'cli',NULL,'schema.migrated',NULL,'0022_queue_order',NULL,'{"version":22}');
INSERT INTO audit VALUES(19,1795794311256,'cli',NULL,'schema.migrated',NULL,'0023_queue_counts',NULL,'{"version":23}');
INSERT INTO audit VALUES(20,1772366400123,'account',X'0190000000007000800000000000000a','search.started',X'0190000000007000800000000000000a','01900000-0000-7000-8000-0000000000d1','req-1','{"type":"username"}');
CREATE TABLE IF NOT EXISTS "charges" (
    run         BLOB    NOT NULL,
    kind        TEXT    NOT NULL CHECK (kind IN ('charge', 'refund')),
    account     BLOB    NOT NULL,
    cycle_start INTEGER NOT NULL,
    credits     INTEGER NOT NULL CHECK (credits >= 0),
    at          INTEGER NOT NULL,
    PRIMARY KEY (run, kind)
) STRICT, WITHOUT ROWID;
INSERT INTO charges VALUES(X'019000000000700080000000000000d1','charge',X'0190000000007000800000000000000a',1772272800001,1,1772366400123);
INSERT INTO charges VALUES(X'019000000000700080000000000000d2','charge',X'0190000000007000800000000000000a',1772272800001,2,1772366401000);
INSERT INTO charges VALUES(X'019000000000700080000000000000d2','refund',X'0190000000007000800000000000000a',1772272800001,2,1772366520000);
INSERT INTO charges VALUES(X'019000000000700080000000000000d3','charge',X'0190000000007000800000000000000a',1772272800001,1,1772366402000);
INSERT INTO charges VALUES(X'019000000000700080000000000000d4','charge',X'0190000000007000800000000000000a',1772272800001,1,1772366403000);
CREATE TABLE IF NOT EXISTS "credit_usage" (
    account     BLOB    NOT NULL,
    cycle_start INTEGER NOT NULL,
    used        INTEGER NOT NULL CHECK (used >= 0),
    PRIMARY KEY (account, cycle_start)
) STRICT, WITHOUT ROWID;
INSERT INTO credit_usage VALUES(X'0190000000007000800000000000000a',1769853600001,3);
INSERT INTO credit_usage VALUES(X'0190000000007000800000000000000a',1772272800001,3);
CREATE TABLE passwords (
    account    BLOB    NOT NULL PRIMARY KEY REFERENCES accounts (id) ON DELETE CASCADE,
    -- A PHC string of Argon2id.
    hash       TEXT    NOT NULL,
    changed_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO passwords VALUES(X'0190000000007000800000000000000a','$argon2id$v=19$m=19456,t=2,p=1$c2FsdHNhbHRzYWx0$aGFzaGhhc2hoYXNo',1772366400123);
CREATE TABLE web_sessions (
    id           BLOB    NOT NULL PRIMARY KEY,
    account      BLOB    NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    -- SHA-256 of what the cookie holds.
    token_hash   BLOB    NOT NULL UNIQUE CHECK (length(token_hash) = 32),
    -- What forms must bring back.
    csrf         BLOB    NOT NULL CHECK (length(csrf) = 32),
    created_at   INTEGER NOT NULL,
    last_seen_at INTEGER NOT NULL,
    -- By whichever comes first: nothing was seen for long, or it is old.
    expires_at   INTEGER NOT NULL,
    user_agent   TEXT    NOT NULL,
    address      TEXT    NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO web_sessions VALUES(X'0190000000007000800000000000005e',X'0190000000007000800000000000000a',X'3333333333333333333333333333333333333333333333333333333333333333',X'4444444444444444444444444444444444444444444444444444444444444444',1772366400123,1772366400123,4102444800000,'Firefox','192.0.2.1');
CREATE TABLE set_up_links (
    token_hash BLOB    NOT NULL PRIMARY KEY CHECK (length(token_hash) = 32),
    account    BLOB    NOT NULL UNIQUE REFERENCES accounts (id) ON DELETE CASCADE,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO set_up_links VALUES(X'5555555555555555555555555555555555555555555555555555555555555555',X'0190000000007000800000000000000b',1772366400123,4102444800000);
CREATE TABLE sign_in_attempts (
    subject BLOB    NOT NULL PRIMARY KEY CHECK (length(subject) = 32),
    due     INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO sign_in_attempts VALUES(X'6666666666666666666666666666666666666666666666666666666666666666',1772366400123);
CREATE TABLE running (
    id      INTEGER NOT NULL PRIMARY KEY CHECK (id = 1),
    since   INTEGER NOT NULL,
    last_at INTEGER NOT NULL
) STRICT;
INSERT INTO running VALUES(1,1772366400123,1772366460123);
CREATE TABLE host_circuits (
    host        TEXT    NOT NULL,
    -- Whether the host is one of the simulated web.
    simulated   INTEGER NOT NULL,
    -- The time of the observation that changed the circuit. Of two changes, the later one is valid.
    changed_at  INTEGER NOT NULL,
    -- NULL in all of these: the circuit is closed.
    outcome     TEXT,
    open_since  INTEGER,
    -- The wait before the next try, in milliseconds.
    wait_ms     INTEGER,
    next_try_at INTEGER,
    PRIMARY KEY (host, simulated)
) STRICT, WITHOUT ROWID;
INSERT INTO host_circuits VALUES('down.example',0,1772366400123,'timeout',1772366400123,60000,1772366460123);
CREATE TABLE module_quarantines (
    module      TEXT    NOT NULL,
    -- Whether the control checks were made on the simulated web.
    simulated   INTEGER NOT NULL,
    -- The time of the observation that put the module in quarantine or ended that. Of two changes, the later one is valid.
    changed_at  INTEGER NOT NULL,
    -- NULL in all of these: the module is asked. The cause is a document: the last failed control check.
    cause       TEXT,
    open_since  INTEGER,
    -- The wait before the next try, in milliseconds.
    wait_ms     INTEGER,
    next_try_at INTEGER,
    PRIMARY KEY (module, simulated)
) STRICT, WITHOUT ROWID;
INSERT INTO module_quarantines VALUES('mastodon',0,1772366400123,'{"direction":"made_up","failures":4,"after":{"http_status":200,"matcher":"hit[0]: \"é\""},"before":null,"entry":"0123456789abcdef"}',1772366400123,60001,1772366460123);
CREATE TABLE catalog_bundles (
    serial     INTEGER NOT NULL PRIMARY KEY,
    created_at INTEGER NOT NULL,
    -- The time at which the bundle was stored here.
    stored_at  INTEGER NOT NULL,
    -- The whole file with its signature.
    document   TEXT    NOT NULL
) STRICT;
INSERT INTO catalog_bundles VALUES(7,1772366400123,1772366400123,'{"serial":7}');
CREATE TABLE followed_leads (
    root   BLOB NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    lead   BLOB NOT NULL,
    -- 'verified' or 'stated'.
    class  TEXT NOT NULL,
    run    BLOB NOT NULL,
    parent BLOB NOT NULL,
    PRIMARY KEY (root, lead)
) STRICT, WITHOUT ROWID;
INSERT INTO followed_leads VALUES(X'019000000000700080000000000000d1',X'0190000000007000800000000000001e','verified',X'019000000000700080000000000000d5',X'019000000000700080000000000000d1');
CREATE TABLE thumbnails (
    run    BLOB    NOT NULL,
    result INTEGER NOT NULL,
    png    BLOB    NOT NULL CHECK (length(png) BETWEEN 1 AND 16384),
    PRIMARY KEY (run, result),
    FOREIGN KEY (run, result) REFERENCES results (run, id) ON DELETE CASCADE
) STRICT;
INSERT INTO thumbnails VALUES(X'019000000000700080000000000000d1',1,X'89504e470d0a1a0a');
CREATE TABLE webhooks (
    id             BLOB    NOT NULL PRIMARY KEY,
    account        BLOB    NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    url            TEXT    NOT NULL,
    -- The names of the events that are sent, as a JSON array.
    events         TEXT    NOT NULL,
    -- Encrypted with the operator's key.
    secret         BLOB    NOT NULL CHECK (length(secret) = 60),
    -- The secret before the last rotation. Messages are signed with it too until that moment.
    earlier_secret BLOB    CHECK (length(earlier_secret) = 60),
    earlier_until  INTEGER CHECK ((earlier_until IS NULL) = (earlier_secret IS NULL)),
    -- The reason why nothing is sent. NULL: the webhook is enabled.
    disabled       TEXT    CHECK (disabled IN ('owner', 'gone', 'failing')),
    -- The first attempt that failed since the last success.
    failing_since  INTEGER,
    -- Whether the last attempt took long.
    is_slow        INTEGER NOT NULL DEFAULT 0 CHECK (is_slow IN (0, 1)),
    created_at     INTEGER NOT NULL
) STRICT;
INSERT INTO webhooks VALUES(X'0190000000007000800000000000003b',X'0190000000007000800000000000000a','https://hooks.example/in','["run.completed"]',X'777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777',NULL,NULL,NULL,1772366400123,1,1772366400123);
CREATE TABLE webhook_deliveries (
    id              BLOB    NOT NULL PRIMARY KEY,
    webhook         BLOB    NOT NULL REFERENCES webhooks (id) ON DELETE CASCADE,
    event           TEXT    NOT NULL,
    body            TEXT    NOT NULL,
    created_at      INTEGER NOT NULL,
    status          TEXT    NOT NULL CHECK (status IN ('pending', 'delivered', 'failed')),
    -- The time of the next attempt. NULL: there will be none.
    due_at          INTEGER CHECK ((due_at IS NULL) = (status <> 'pending')),
    -- The time until which an instance holds the delivery to send it.
    held_until      INTEGER,
    -- The number of claims. A record of an attempt is refused if the delivery was claimed again.
    epoch           INTEGER NOT NULL DEFAULT 0,
    attempts        INTEGER NOT NULL DEFAULT 0,
    -- The last attempt.
    last_attempt_at INTEGER,
    http_status     INTEGER,
    error           TEXT,
    latency_ms      INTEGER,
    head            TEXT
) STRICT;
INSERT INTO webhook_deliveries VALUES(X'019000000000700080000000000000de',X'0190000000007000800000000000003b','run.completed','{"type":"run.completed"}',1772366400123,'pending',1772366401123,NULL,1,1,1772366400123,500,NULL,12,'HTTP/1.1 500');
CREATE TABLE watches (
    id          BLOB NOT NULL PRIMARY KEY,
    account     BLOB NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    search_type TEXT NOT NULL,
    query       TEXT NOT NULL,
    premium     INTEGER NOT NULL CHECK (premium IN (0, 1)),
    -- The options of the runs and the choice of their modules, as documents.
    options     TEXT NOT NULL,
    choice      TEXT NOT NULL,
    simulated   INTEGER NOT NULL CHECK (simulated IN (0, 1)),
    every_secs  INTEGER NOT NULL CHECK (every_secs > 0),
    -- The kinds of changes that are reported to webhooks, as a JSON array.
    notify_on   TEXT NOT NULL,
    -- NULL: all webhooks of the account that have subscribed to the event. The webhook may have been deleted since.
    webhook     BLOB,
    -- The reason why no runs are started. NULL: the watch is active.
    paused      TEXT CHECK (paused IN ('user', 'credits')),
    -- The time at which the next run is due, by the clock of the database.
    next_at     INTEGER NOT NULL,
    created_at  INTEGER NOT NULL,
    -- The last run. It may have been deleted since.
    last_run    BLOB,
    -- Whether the last run has not ended or was not compared yet.
    is_open     INTEGER NOT NULL DEFAULT 0 CHECK (is_open IN (0, 1)),
    -- The last conclusion of each module, a document. NULL until the first run was compared.
    baseline    TEXT
) STRICT;
INSERT INTO watches VALUES(X'019000000000700080000000000000f1',X'0190000000007000800000000000000a','username','waiting',0,'{}','{}',0,86400,'["added"]',X'0190000000007000800000000000003b',NULL,4102444800000,1772366400123,X'019000000000700080000000000000d4',1,NULL);
CREATE TABLE watch_changes (
    id         BLOB NOT NULL PRIMARY KEY,
    watch      BLOB NOT NULL REFERENCES watches (id) ON DELETE CASCADE,
    kind       TEXT NOT NULL CHECK (kind IN ('added', 'removed', 'changed')),
    -- These runs may have been deleted since.
    run_before BLOB NOT NULL,
    run_after  BLOB NOT NULL,
    at         INTEGER NOT NULL,
    -- The result with the fields that differ, a document.
    difference TEXT NOT NULL
) STRICT;
INSERT INTO watch_changes VALUES(X'019000000000700080000000000000cc',X'019000000000700080000000000000f1','added',X'019000000000700080000000000000d1',X'019000000000700080000000000000d4',1772366400123,'{"type":"account","value":"someone","after_id":1}');
CREATE TABLE batches (
    id         BLOB    NOT NULL PRIMARY KEY,
    account    BLOB    NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    name       TEXT,
    -- Whether its searches query the simulated web.
    simulated  INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    -- No further search is started after that moment.
    stopped_at INTEGER,
    -- Every search that was started has ended, and no further one will be started.
    ended_at   INTEGER,
    -- The account had not enough credits. The next search is tried at that moment.
    retry_at   INTEGER,
    -- Grows with each search that is started. The account whose batches have the lowest one starts the next search.
    turn       INTEGER NOT NULL DEFAULT 0
) STRICT;
INSERT INTO batches VALUES(X'019000000000700080000000000000b1',X'0190000000007000800000000000000a','Friday',0,1772366400123,NULL,NULL,NULL,1);
CREATE TABLE batch_rows (
    batch    BLOB    NOT NULL REFERENCES batches (id) ON DELETE CASCADE,
    -- The place of the search in the request, from 1.
    position INTEGER NOT NULL,
    -- What is searched, a document.
    search   TEXT    NOT NULL,
    state    TEXT    NOT NULL CHECK (state IN ('pending', 'started', 'skipped', 'refused')),
    -- Why the search was refused.
    reason   TEXT    CHECK ((reason IS NULL) = (state <> 'refused')),
    -- The row is deleted with its run.
    run      BLOB    UNIQUE REFERENCES runs (id) ON DELETE CASCADE CHECK ((run IS NULL) = (state <> 'started')),
    PRIMARY KEY (batch, position)
) STRICT, WITHOUT ROWID;
INSERT INTO batch_rows VALUES(X'019000000000700080000000000000b1',1,'{"type":"email","query":"me1@example.com"}','started',NULL,X'019000000000700080000000000000d3');
INSERT INTO batch_rows VALUES(X'019000000000700080000000000000b1',2,'{"type":"email","query":"me2@example.com"}','pending',NULL,NULL);
INSERT INTO batch_rows VALUES(X'019000000000700080000000000000b1',3,'{"type":"email","query":"me3@example.com"}','skipped',NULL,NULL);
INSERT INTO batch_rows VALUES(X'019000000000700080000000000000b1',4,'{"type":"email","query":"me4@example.com"}','refused','suppressed',NULL);
CREATE TABLE annotations (
    run             BLOB    NOT NULL,
    result          INTEGER NOT NULL,
    note            TEXT,
    -- Whether the result belongs to another person than the one who is searched.
    not_this_person INTEGER NOT NULL CHECK (not_this_person IN (0, 1)),
    PRIMARY KEY (run, result),
    FOREIGN KEY (run, result) REFERENCES results (run, id) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
INSERT INTO annotations VALUES(X'019000000000700080000000000000d1',2,'a cousin',1);
DELETE FROM sqlite_sequence;
INSERT INTO sqlite_sequence VALUES('audit',20);
CREATE INDEX api_keys_account ON api_keys (account, created_at, id);
CREATE INDEX runs_list ON runs (account, created_at DESC, id DESC);
CREATE INDEX idempotency_keys_age ON idempotency_keys (created_at);
CREATE INDEX audit_account ON audit (account, id);
CREATE INDEX audit_at ON audit (at);
CREATE TRIGGER audit_is_never_updated BEFORE UPDATE ON audit
BEGIN
    SELECT RAISE(ABORT, 'the audit is append-only: UPDATE is refused');
END;
CREATE TRIGGER audit_is_never_deleted BEFORE DELETE ON audit
BEGIN
    SELECT RAISE(ABORT, 'the audit is append-only: DELETE is refused');
END;
CREATE TRIGGER audit_is_never_replaced BEFORE INSERT ON audit
WHEN EXISTS (SELECT 1 FROM audit WHERE id = NEW.id)
BEGIN
    SELECT RAISE(ABORT, 'the audit is append-only: REPLACE is refused');
END;
CREATE INDEX runs_ended ON runs (completed_at) WHERE completed_at IS NOT NULL;
CREATE INDEX runs_by_status ON runs (account, status, created_at DESC, id DESC);
CREATE INDEX runs_by_type ON runs (account, search_type, created_at DESC, id DESC);
CREATE INDEX web_sessions_account ON web_sessions (account, created_at, id);
CREATE INDEX web_sessions_expiry ON web_sessions (expires_at);
CREATE INDEX runs_family ON runs (root_run, created_at, id) WHERE root_run IS NOT NULL;
CREATE INDEX runs_following ON runs (id) WHERE following = 'running';
CREATE INDEX webhooks_account ON webhooks (account, created_at, id);
CREATE INDEX webhook_deliveries_due ON webhook_deliveries (webhook, due_at, id) WHERE due_at IS NOT NULL;
CREATE INDEX webhook_deliveries_list ON webhook_deliveries (webhook, id);
CREATE INDEX webhook_deliveries_age ON webhook_deliveries (created_at);
CREATE INDEX watches_account ON watches (account, id);
CREATE INDEX watches_due ON watches (next_at, id) WHERE paused IS NULL AND NOT is_open;
CREATE INDEX watches_open ON watches (id) WHERE is_open;
CREATE INDEX watches_unpaid ON watches (account) WHERE paused = 'credits';
CREATE INDEX watch_changes_list ON watch_changes (watch, id);
CREATE INDEX watch_changes_age ON watch_changes (at);
CREATE INDEX runs_watch ON runs (watch, created_at, id) WHERE watch IS NOT NULL;
CREATE INDEX batches_account ON batches (account, created_at, id);
CREATE INDEX batches_open ON batches (created_at, id) WHERE ended_at IS NULL;
CREATE INDEX batches_ended ON batches (ended_at) WHERE ended_at IS NOT NULL;
CREATE INDEX batch_rows_pending ON batch_rows (batch, position) WHERE state = 'pending';
CREATE INDEX runs_batch ON runs (batch) WHERE batch IS NOT NULL;
CREATE INDEX runs_tagged ON runs (account, created_at DESC, id DESC) WHERE tags IS NOT NULL;
CREATE INDEX runs_queue ON runs (simulated, turn, created_at, id, account, status, owner)
    WHERE status = 'running' AND owner IS NULL AND turn IS NOT NULL;
CREATE INDEX runs_begun ON runs (simulated, created_at, id)
    WHERE status = 'running' AND (turn IS NULL OR owner IS NOT NULL);
COMMIT;
