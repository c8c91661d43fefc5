-- What version 3 of the schema looks like, with rows: written by sqlite3's .dump. Never changes.
PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE schema_version (version INTEGER NOT NULL PRIMARY KEY, name TEXT NOT NULL, applied_at INTEGER NOT NULL) STRICT;
INSERT INTO schema_version VALUES(1,'0001_foundation',1769904000000);
INSERT INTO schema_version VALUES(2,'0002_several_sources',1769990400000);
INSERT INTO schema_version VALUES(3,'0003_module_health',1770076800000);
CREATE TABLE accounts (
    id         BLOB    NOT NULL PRIMARY KEY,
    email      TEXT    NOT NULL UNIQUE,
    plan       TEXT    NOT NULL,
    anchor     INTEGER NOT NULL,
    created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO accounts VALUES(X'0190000000007000800000000000000a','owner@example.com','pro',1769853600001,1769853600001);
INSERT INTO accounts VALUES(X'0190000000007000800000000000000b','zoë@example.com','free',1769853600001,1769853600001);
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
CREATE TABLE credit_usage (
    account     BLOB    NOT NULL REFERENCES accounts (id),
    cycle_start INTEGER NOT NULL,
    used        INTEGER NOT NULL CHECK (used >= 0),
    PRIMARY KEY (account, cycle_start)
) STRICT, WITHOUT ROWID;
INSERT INTO credit_usage VALUES(X'0190000000007000800000000000000a',1769853600001,3);
INSERT INTO credit_usage VALUES(X'0190000000007000800000000000000a',1772272800001,1);
CREATE TABLE charges (
    run         BLOB    NOT NULL,
    kind        TEXT    NOT NULL CHECK (kind IN ('charge', 'refund')),
    account     BLOB    NOT NULL REFERENCES accounts (id),
    cycle_start INTEGER NOT NULL,
    credits     INTEGER NOT NULL CHECK (credits >= 0),
    at          INTEGER NOT NULL,
    PRIMARY KEY (run, kind)
) STRICT, WITHOUT ROWID;
INSERT INTO charges VALUES(X'019000000000700080000000000000d1','charge',X'0190000000007000800000000000000a',1772272800001,1,1772366400123);
INSERT INTO charges VALUES(X'019000000000700080000000000000d2','charge',X'0190000000007000800000000000000a',1772272800001,2,1772366401000);
INSERT INTO charges VALUES(X'019000000000700080000000000000d2','refund',X'0190000000007000800000000000000a',1772272800001,2,1772366520000);
INSERT INTO charges VALUES(X'019000000000700080000000000000d3','charge',X'0190000000007000800000000000000a',1772272800001,1,1772366402000);
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
, revision INTEGER NOT NULL DEFAULT 0) STRICT;
INSERT INTO runs VALUES(X'019000000000700080000000000000d1',X'0190000000007000800000000000000a','completed','username',0,0,2,1,1772366400123,1772366460250,NULL,NULL,' @Someone ’ 名前','{"modules_total":2,"modules_completed":2,"modules_with_hits":1}','{"checked": 2, "conclusive": 1, "hit": 1, "miss": 0, "blocked": 0, "rate_limited": 0, "timeout": 1, "error": 0, "unreliable": 0, "skipped": 0, "ratio": 0.5}',NULL,'["github","mastodon"]','[["github","GitHub","hit",null,200,345],["mastodon","Mastodon","timeout","timeout_connect",null,10000]]',2);
INSERT INTO runs VALUES(X'019000000000700080000000000000d2',X'0190000000007000800000000000000a','failed','username',1,0,0,0,1772366401000,1772366520000,NULL,NULL,'nobody','{"modules_total":1,"modules_completed":1,"modules_with_hits":0}','{"checked": 1, "conclusive": 0, "hit": 0, "miss": 0, "blocked": 0, "rate_limited": 0, "timeout": 0, "error": 1, "unreliable": 0, "skipped": 0, "ratio": 0.0}','{"code":"no_conclusion","message":"no module came to a conclusion"}','["github"]','[["github","GitHub","error","dns",null,12]]',0);
INSERT INTO runs VALUES(X'019000000000700080000000000000d3',X'0190000000007000800000000000000a','running','email',0,0,1,1,1772366402000,NULL,X'019000000000700080000000000000e1',1772366432000,'me@example.com','{"modules_total":2,"modules_completed":1,"modules_with_hits":1}','{"checked": 1, "conclusive": 1, "hit": 1, "miss": 0, "blocked": 0, "rate_limited": 0, "timeout": 0, "error": 0, "unreliable": 0, "skipped": 0, "ratio": 1.0}',NULL,'["gravatar","keybase"]','[["gravatar","Gravatar","hit",null,200,80]]',0);
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
INSERT INTO results VALUES(X'019000000000700080000000000000d3',1,X'a3a3a3a3a3a3a3a3a3a3a3a3a3a3a3a3','{"id": 1, "type": "profile", "entity_type": "profile", "platform": "Gravatar", "value": "me", "confidence": 0.87, "source": "gravatar", "metadata": {"nested": {"list": [1, 2, {"x": null}]}}, "created_at": "2026-03-01T12:00:01.500Z"}',0);
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
    last_conclusive_at INTEGER,
    PRIMARY KEY (module, simulated)
) STRICT, WITHOUT ROWID;
INSERT INTO module_health VALUES('github',0,7,2.5,3.25,0.0,0.0,1.0,0.0,0.0,1.75,5.5,1772366400000,1772362800000,NULL);
CREATE INDEX api_keys_account ON api_keys (account, created_at, id);
CREATE INDEX runs_list ON runs (account, created_at DESC, id DESC);
CREATE INDEX runs_running ON runs (created_at, id) WHERE status = 'running';
CREATE INDEX idempotency_keys_age ON idempotency_keys (created_at);
COMMIT;
