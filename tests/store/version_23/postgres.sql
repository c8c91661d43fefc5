-- A database of version 23 with rows in every table, written by pg_dump --inserts.
CREATE FUNCTION public.audit_is_append_only() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    RAISE EXCEPTION 'the audit is append-only: % is refused', TG_OP USING ERRCODE = 'insufficient_privilege';
END
$$;
CREATE TABLE public.accounts (
    id uuid NOT NULL,
    email text NOT NULL,
    plan text NOT NULL,
    anchor timestamp with time zone NOT NULL,
    created_at timestamp with time zone NOT NULL,
    role text DEFAULT 'user'::text NOT NULL,
    CONSTRAINT accounts_role_check CHECK ((role = ANY (ARRAY['user'::text, 'operator'::text])))
);
CREATE TABLE public.annotations (
    run uuid NOT NULL,
    result bigint NOT NULL,
    note text,
    not_this_person boolean NOT NULL
);
CREATE TABLE public.api_keys (
    id uuid NOT NULL,
    account uuid NOT NULL,
    hash bytea NOT NULL,
    last_four text NOT NULL,
    label text NOT NULL,
    created_at timestamp with time zone NOT NULL,
    last_used_at timestamp with time zone,
    revoked_at timestamp with time zone,
    CONSTRAINT api_keys_hash_check CHECK ((length(hash) = 32))
);
CREATE TABLE public.audit (
    id bigint NOT NULL,
    at timestamp with time zone NOT NULL,
    actor text NOT NULL,
    actor_id uuid,
    action text NOT NULL,
    account uuid,
    object text,
    request text,
    detail json,
    CONSTRAINT audit_actor_check CHECK ((actor = ANY (ARRAY['account'::text, 'key'::text, 'cli'::text, 'system'::text]))),
    CONSTRAINT audit_check CHECK (((actor_id IS NULL) = (actor = ANY (ARRAY['cli'::text, 'system'::text]))))
);
ALTER TABLE public.audit ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.audit_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.batch_rows (
    batch uuid NOT NULL,
    "position" bigint NOT NULL,
    search text NOT NULL,
    state text NOT NULL,
    reason text,
    run uuid,
    CONSTRAINT batch_rows_check CHECK (((reason IS NULL) = (state <> 'refused'::text))),
    CONSTRAINT batch_rows_check1 CHECK (((run IS NULL) = (state <> 'started'::text))),
    CONSTRAINT batch_rows_state_check CHECK ((state = ANY (ARRAY['pending'::text, 'started'::text, 'skipped'::text, 'refused'::text])))
);
CREATE TABLE public.batches (
    id uuid NOT NULL,
    account uuid NOT NULL,
    name text,
    simulated boolean NOT NULL,
    created_at timestamp with time zone NOT NULL,
    stopped_at timestamp with time zone,
    ended_at timestamp with time zone,
    retry_at timestamp with time zone,
    turn bigint DEFAULT 0 NOT NULL
);
CREATE TABLE public.catalog_bundles (
    serial bigint NOT NULL,
    created_at timestamp with time zone NOT NULL,
    stored_at timestamp with time zone NOT NULL,
    document text NOT NULL
);
CREATE TABLE public.charges (
    run uuid NOT NULL,
    kind text NOT NULL,
    account uuid NOT NULL,
    cycle_start timestamp with time zone NOT NULL,
    credits bigint NOT NULL,
    at timestamp with time zone NOT NULL,
    CONSTRAINT charges_credits_check CHECK ((credits >= 0)),
    CONSTRAINT charges_kind_check CHECK ((kind = ANY (ARRAY['charge'::text, 'refund'::text])))
);
CREATE TABLE public.credit_usage (
    account uuid NOT NULL,
    cycle_start timestamp with time zone NOT NULL,
    used bigint NOT NULL,
    CONSTRAINT credit_usage_used_check CHECK ((used >= 0))
);
CREATE TABLE public.followed_leads (
    root uuid NOT NULL,
    lead uuid NOT NULL,
    class text NOT NULL,
    run uuid NOT NULL,
    parent uuid NOT NULL
);
CREATE TABLE public.host_circuits (
    host text NOT NULL,
    simulated boolean NOT NULL,
    changed_at timestamp with time zone NOT NULL,
    outcome text,
    open_since timestamp with time zone,
    wait_ms bigint,
    next_try_at timestamp with time zone
);
CREATE TABLE public.idempotency_keys (
    account uuid NOT NULL,
    key text NOT NULL,
    body_hash bytea NOT NULL,
    run uuid NOT NULL,
    created_at timestamp with time zone NOT NULL,
    CONSTRAINT idempotency_keys_body_hash_check CHECK ((length(body_hash) = 32))
);
CREATE TABLE public.module_health (
    module text NOT NULL,
    simulated boolean NOT NULL,
    checks bigint NOT NULL,
    hit double precision NOT NULL,
    miss double precision NOT NULL,
    blocked double precision NOT NULL,
    rate_limited double precision NOT NULL,
    timeout double precision NOT NULL,
    error double precision NOT NULL,
    unreliable double precision NOT NULL,
    latency_sum double precision NOT NULL,
    latency_weight double precision NOT NULL,
    last_checked_at timestamp with time zone,
    last_hit_at timestamp with time zone,
    last_conclusive_at timestamp with time zone,
    durations json DEFAULT '{}'::json NOT NULL
)
WITH (fillfactor='50');
CREATE TABLE public.module_quarantines (
    module text NOT NULL,
    simulated boolean NOT NULL,
    changed_at timestamp with time zone NOT NULL,
    cause text,
    open_since timestamp with time zone,
    wait_ms bigint,
    next_try_at timestamp with time zone
);
CREATE TABLE public.passwords (
    account uuid NOT NULL,
    hash text NOT NULL,
    changed_at timestamp with time zone NOT NULL
);
CREATE TABLE public.rate_grants (
    account uuid NOT NULL,
    policy text NOT NULL,
    grants bigint[] NOT NULL
)
WITH (fillfactor='50');
CREATE TABLE public.results (
    run uuid NOT NULL,
    id bigint NOT NULL,
    dedup bytea NOT NULL,
    record json NOT NULL,
    revision bigint DEFAULT 0 NOT NULL,
    CONSTRAINT results_dedup_check CHECK ((length(dedup) = 16))
);
CREATE TABLE public.running (
    id bigint NOT NULL,
    since timestamp with time zone NOT NULL,
    last_at timestamp with time zone NOT NULL,
    CONSTRAINT running_id_check CHECK ((id = 1))
);
CREATE TABLE public.runs (
    id uuid NOT NULL,
    account uuid NOT NULL,
    status text NOT NULL,
    search_type text NOT NULL,
    premium boolean NOT NULL,
    simulated boolean NOT NULL,
    total_results bigint DEFAULT 0 NOT NULL,
    credits_charged bigint NOT NULL,
    created_at timestamp with time zone NOT NULL,
    completed_at timestamp with time zone,
    owner uuid,
    lease_until timestamp with time zone,
    query text NOT NULL,
    progress json NOT NULL,
    coverage json NOT NULL,
    error json,
    planned json NOT NULL,
    reports json NOT NULL,
    revision bigint DEFAULT 0 NOT NULL,
    epoch bigint DEFAULT 0 NOT NULL,
    started_at timestamp with time zone,
    turn bigint,
    options json DEFAULT '{}'::json NOT NULL,
    follow text,
    root_run uuid,
    parent_run uuid,
    depth bigint DEFAULT 0 NOT NULL,
    lookups text DEFAULT '[]'::text NOT NULL,
    following text,
    followed text,
    watch uuid,
    batch uuid,
    stopped_at timestamp with time zone,
    retry_of uuid,
    free_retry uuid,
    choice text,
    tags text,
    note text,
    CONSTRAINT runs_following_check CHECK ((following = ANY (ARRAY['running'::text, 'completed'::text]))),
    CONSTRAINT runs_status_check CHECK ((status = ANY (ARRAY['running'::text, 'completed'::text, 'failed'::text])))
)
WITH (fillfactor='70');
CREATE TABLE public.schema_version (
    version bigint NOT NULL,
    name text NOT NULL,
    applied_at timestamp with time zone NOT NULL,
    checksum text
);
CREATE TABLE public.set_up_links (
    token_hash bytea NOT NULL,
    account uuid NOT NULL,
    created_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    CONSTRAINT set_up_links_token_hash_check CHECK ((length(token_hash) = 32))
);
CREATE TABLE public.sign_in_attempts (
    subject bytea NOT NULL,
    due bigint NOT NULL,
    CONSTRAINT sign_in_attempts_subject_check CHECK ((length(subject) = 32))
)
WITH (fillfactor='50');
CREATE TABLE public.thumbnails (
    run uuid NOT NULL,
    result bigint NOT NULL,
    png bytea NOT NULL,
    CONSTRAINT thumbnails_png_check CHECK (((length(png) >= 1) AND (length(png) <= 16384)))
);
CREATE TABLE public.watch_changes (
    id uuid NOT NULL,
    watch uuid NOT NULL,
    kind text NOT NULL,
    run_before uuid NOT NULL,
    run_after uuid NOT NULL,
    at timestamp with time zone NOT NULL,
    difference text NOT NULL,
    CONSTRAINT watch_changes_kind_check CHECK ((kind = ANY (ARRAY['added'::text, 'removed'::text, 'changed'::text])))
);
CREATE TABLE public.watches (
    id uuid NOT NULL,
    account uuid NOT NULL,
    search_type text NOT NULL,
    query text NOT NULL,
    premium boolean NOT NULL,
    options text NOT NULL,
    choice text NOT NULL,
    simulated boolean NOT NULL,
    every_secs bigint NOT NULL,
    notify_on text NOT NULL,
    webhook uuid,
    paused text,
    next_at timestamp with time zone NOT NULL,
    created_at timestamp with time zone NOT NULL,
    last_run uuid,
    is_open boolean DEFAULT false NOT NULL,
    baseline text,
    CONSTRAINT watches_every_secs_check CHECK ((every_secs > 0)),
    CONSTRAINT watches_paused_check CHECK ((paused = ANY (ARRAY['user'::text, 'credits'::text])))
);
CREATE TABLE public.web_sessions (
    id uuid NOT NULL,
    account uuid NOT NULL,
    token_hash bytea NOT NULL,
    csrf bytea NOT NULL,
    created_at timestamp with time zone NOT NULL,
    last_seen_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    user_agent text NOT NULL,
    address text NOT NULL,
    CONSTRAINT web_sessions_csrf_check CHECK ((length(csrf) = 32)),
    CONSTRAINT web_sessions_token_hash_check CHECK ((length(token_hash) = 32))
)
WITH (fillfactor='80');
CREATE TABLE public.webhook_deliveries (
    id uuid NOT NULL,
    webhook uuid NOT NULL,
    event text NOT NULL,
    body text NOT NULL,
    created_at timestamp with time zone NOT NULL,
    status text NOT NULL,
    due_at timestamp with time zone,
    held_until timestamp with time zone,
    epoch bigint DEFAULT 0 NOT NULL,
    attempts bigint DEFAULT 0 NOT NULL,
    last_attempt_at timestamp with time zone,
    http_status bigint,
    error text,
    latency_ms bigint,
    head text,
    CONSTRAINT webhook_deliveries_check CHECK (((due_at IS NULL) = (status <> 'pending'::text))),
    CONSTRAINT webhook_deliveries_status_check CHECK ((status = ANY (ARRAY['pending'::text, 'delivered'::text, 'failed'::text])))
)
WITH (fillfactor='70');
CREATE TABLE public.webhooks (
    id uuid NOT NULL,
    account uuid NOT NULL,
    url text NOT NULL,
    events text NOT NULL,
    secret bytea NOT NULL,
    earlier_secret bytea,
    earlier_until timestamp with time zone,
    disabled text,
    failing_since timestamp with time zone,
    is_slow boolean DEFAULT false NOT NULL,
    created_at timestamp with time zone NOT NULL,
    CONSTRAINT webhooks_check CHECK (((earlier_until IS NULL) = (earlier_secret IS NULL))),
    CONSTRAINT webhooks_disabled_check CHECK ((disabled = ANY (ARRAY['owner'::text, 'gone'::text, 'failing'::text]))),
    CONSTRAINT webhooks_earlier_secret_check CHECK ((length(earlier_secret) = 60)),
    CONSTRAINT webhooks_secret_check CHECK ((length(secret) = 60))
);
INSERT INTO public.accounts VALUES ('01900000-0000-7000-8000-00000000000a', 'owner@example.com', 'pro', '2026-01-31 10:00:00.001+00', '2026-01-31 10:00:00.001+00', 'operator');
INSERT INTO public.accounts VALUES ('01900000-0000-7000-8000-00000000000b', 'zoë@example.com', 'free', '2026-01-31 10:00:00.001+00', '2026-01-31 10:00:00.001+00', 'user');
INSERT INTO public.annotations VALUES ('01900000-0000-7000-8000-0000000000d1', 2, 'a cousin', true);
INSERT INTO public.api_keys VALUES ('01900000-0000-7000-8000-0000000000c1', '01900000-0000-7000-8000-00000000000a', '\x1111111111111111111111111111111111111111111111111111111111111111', 'Ab12', 'Läptop 💻', '2026-01-31 11:00:00+00', '2026-03-01 12:00:00+00', NULL);
INSERT INTO public.api_keys VALUES ('01900000-0000-7000-8000-0000000000c2', '01900000-0000-7000-8000-00000000000a', '\x2222222222222222222222222222222222222222222222222222222222222222', 'Zz99', 'old', '2026-01-31 11:00:00+00', '2026-02-01 12:00:00+00', '2026-02-02 00:00:00.007+00');
INSERT INTO public.audit OVERRIDING SYSTEM VALUE VALUES (1, '2026-11-27 15:52:39.351+00', 'cli', NULL, 'schema.migrated', NULL, '0005_audit_and_retention', NULL, '{"version":5}');
INSERT INTO public.audit OVERRIDING SYSTEM VALUE VALUES (2, '2026-11-27 15:52:39.383+00', 'cli', NULL, 'schema.migrated', NULL, '0006_runs_ended', NULL, '{"version":6}');
INSERT INTO public.audit OVERRIDING SYSTEM VALUE VALUES (3, '2026-11-27 15:52:39.397+00', 'cli', NULL, 'schema.migrated', NULL, '0007_lists_filtered', NULL, '{"version":7}');
INSERT INTO public.audit OVERRIDING SYSTEM VALUE VALUES (4, '2026-11-27 15:52:39.402+00', 'cli', NULL, 'schema.migrated', NULL, '0008_web', NULL, '{"version":8}');
INSERT INTO public.audit OVERRIDING SYSTEM VALUE VALUES (5, '2026-11-27 15:52:39.46+00', 'cli', NULL, 'schema.migrated', NULL, '0009_queue', NULL, '{"version":9}');
INSERT INTO public.audit OVERRIDING SYSTEM VALUE VALUES (6, '2026-11-27 15:52:39.472+00', 'cli', NULL, 'schema.migrated', NULL, '0010_running', NULL, '{"version":10}');
INSERT INTO public.audit OVERRIDING SYSTEM VALUE VALUES (7, '2026-11-27 15:52:39.531+00', 'cli', NULL, 'schema.migrated', NULL, '0011_deadlines', NULL, '{"version":11}');
INSERT INTO public.audit OVERRIDING SYSTEM VALUE VALUES (8, '2026-11-27 15:52:39.561+00', 'cli', NULL, 'schema.migrated', NULL, '0012_host_circuits', NULL, '{"version":12}');
INSERT INTO public.audit OVERRIDING SYSTEM VALUE VALUES (9, '2026-11-27 15:52:39.578+00', 'cli', NULL, 'schema.migrated', NULL, '0013_module_quarantines', NULL, '{"version":13}');
INSERT INTO public.audit OVERRIDING SYSTEM VALUE VALUES (10, '2026-11-27 15:52:39.606+00', 'cli', NULL, 'schema.migrated', NULL, '0014_catalog_bundles', NULL, '{"version":14}');
INSERT INTO public.audit OVERRIDING SYSTEM VALUE VALUES (11, '2026-11-27 15:52:39.62+00', 'cli', NULL, 'schema.migrated', NULL, '0015_families', NULL, '{"version":15}');
INSERT INTO public.audit OVERRIDING SYSTEM VALUE VALUES (12, '2026-11-27 15:52:39.635+00', 'cli', NULL, 'schema.migrated', NULL, '0016_thumbnails', NULL, '{"version":16}');
INSERT INTO public.audit OVERRIDING SYSTEM VALUE VALUES (13, '2026-11-27 15:52:39.642+00', 'cli', NULL, 'schema.migrated', NULL, '0017_webhooks', NULL, '{"version":17}');
INSERT INTO public.audit OVERRIDING SYSTEM VALUE VALUES (14, '2026-11-27 15:52:39.655+00', 'cli', NULL, 'schema.migrated', NULL, '0018_watches', NULL, '{"version":18}');
INSERT INTO public.audit OVERRIDING SYSTEM VALUE VALUES (15, '2026-11-27 15:52:39.666+00', 'cli', NULL, 'schema.migrated', NULL, '0019_batches', NULL, '{"version":19}');
INSERT INTO public.audit OVERRIDING SYSTEM VALUE VALUES (16, '2026-11-27 15:52:39.749+00', 'cli', NULL, 'schema.migrated', NULL, '0020_stopping', NULL, '{"version":20}');
INSERT INTO public.audit OVERRIDING SYSTEM VALUE VALUES (17, '2026-11-27 15:52:39.807+00', 'cli', NULL, 'schema.migrated', NULL, '0021_notes', NULL, '{"version":21}');
INSERT INTO public.audit OVERRIDING SYSTEM VALUE VALUES (18, '2026-11-27 15:52:39.942+00', 'cli', NULL, 'schema.migrated', NULL, '0022_queue_order', NULL, '{"version":22}');
INSERT INTO public.audit OVERRIDING SYSTEM VALUE VALUES (19, '2026-11-27 15:52:40.064+00', 'cli', NULL, 'schema.migrated', NULL, '0023_queue_counts', NULL, '{"version":23}');
INSERT INTO public.audit OVERRIDING SYSTEM VALUE VALUES (20, '2026-03-01 12:00:00.123+00', 'account', '01900000-0000-7000-8000-00000000000a', 'search.started', '01900000-0000-7000-8000-00000000000a', '01900000-0000-7000-8000-0000000000d1', 'req-1', '{"type":"username"}');
INSERT INTO public.batch_rows VALUES ('01900000-0000-7000-8000-0000000000b1', 1, '{"type":"email","query":"me1@example.com"}', 'started', NULL, '01900000-0000-7000-8000-0000000000d3');
INSERT INTO public.batch_rows VALUES ('01900000-0000-7000-8000-0000000000b1', 2, '{"type":"email","query":"me2@example.com"}', 'pending', NULL, NULL);
INSERT INTO public.batch_rows VALUES ('01900000-0000-7000-8000-0000000000b1', 3, '{"type":"email","query":"me3@example.com"}', 'skipped', NULL, NULL);
INSERT INTO public.batch_rows VALUES ('01900000-0000-7000-8000-0000000000b1', 4, '{"type":"email","query":"me4@example.com"}', 'refused', 'suppressed', NULL);
INSERT INTO public.batches VALUES ('01900000-0000-7000-8000-0000000000b1', '01900000-0000-7000-8000-00000000000a', 'Friday', false, '2026-03-01 12:00:00.123+00', NULL, NULL, NULL, 1);
INSERT INTO public.catalog_bundles VALUES (7, '2026-03-01 12:00:00.123+00', '2026-03-01 12:00:00.123+00', '{"serial":7}');
INSERT INTO public.charges VALUES ('01900000-0000-7000-8000-0000000000d1', 'charge', '01900000-0000-7000-8000-00000000000a', '2026-02-28 10:00:00.001+00', 1, '2026-03-01 12:00:00.123+00');
INSERT INTO public.charges VALUES ('01900000-0000-7000-8000-0000000000d2', 'charge', '01900000-0000-7000-8000-00000000000a', '2026-02-28 10:00:00.001+00', 2, '2026-03-01 12:00:01+00');
INSERT INTO public.charges VALUES ('01900000-0000-7000-8000-0000000000d3', 'charge', '01900000-0000-7000-8000-00000000000a', '2026-02-28 10:00:00.001+00', 1, '2026-03-01 12:00:02+00');
INSERT INTO public.charges VALUES ('01900000-0000-7000-8000-0000000000d2', 'refund', '01900000-0000-7000-8000-00000000000a', '2026-02-28 10:00:00.001+00', 2, '2026-03-01 12:02:00+00');
INSERT INTO public.charges VALUES ('01900000-0000-7000-8000-0000000000d4', 'charge', '01900000-0000-7000-8000-00000000000a', '2026-02-28 10:00:00.001+00', 1, '2026-03-01 12:00:03+00');
INSERT INTO public.credit_usage VALUES ('01900000-0000-7000-8000-00000000000a', '2026-01-31 10:00:00.001+00', 3);
INSERT INTO public.credit_usage VALUES ('01900000-0000-7000-8000-00000000000a', '2026-02-28 10:00:00.001+00', 3);
INSERT INTO public.followed_leads VALUES ('01900000-0000-7000-8000-0000000000d1', '01900000-0000-7000-8000-00000000001e', 'verified', '01900000-0000-7000-8000-0000000000d5', '01900000-0000-7000-8000-0000000000d1');
INSERT INTO public.host_circuits VALUES ('down.example', false, '2026-03-01 12:00:00.123+00', 'timeout', '2026-03-01 12:00:00.123+00', 60000, '2026-03-01 12:01:00.123+00');
INSERT INTO public.idempotency_keys VALUES ('01900000-0000-7000-8000-00000000000a', 'key-1', '\x0707070707070707070707070707070707070707070707070707070707070707', '01900000-0000-7000-8000-0000000000d1', '2026-03-01 12:00:00.123+00');
INSERT INTO public.module_health VALUES ('github', false, 7, 2.5, 3.25, 0, 0, 1, 0, 0, 1.75, 5.5, '2026-03-01 12:00:00+00', '2026-03-01 11:00:00+00', NULL, '{"counted":6,"weights":{"3":4.75},"in_vain":{"9":0.25},"is_waiting":false,"answered_at":[1772366400000,1772366400000,1772366400000,1772366400000,1772366400000]}');
INSERT INTO public.module_quarantines VALUES ('mastodon', false, '2026-03-01 12:00:00.123+00', '{"direction":"made_up","failures":4,"after":{"http_status":200,"matcher":"hit[0]: \"é\""},"before":null,"entry":"0123456789abcdef"}', '2026-03-01 12:00:00.123+00', 60001, '2026-03-01 12:01:00.123+00');
INSERT INTO public.passwords VALUES ('01900000-0000-7000-8000-00000000000a', '$argon2id$v=19$m=19456,t=2,p=1$c2FsdHNhbHRzYWx0$aGFzaGhhc2hoYXNo', '2026-03-01 12:00:00.123+00');
INSERT INTO public.rate_grants VALUES ('01900000-0000-7000-8000-00000000000a', 'search', '{}');
INSERT INTO public.results VALUES ('01900000-0000-7000-8000-0000000000d1', 1, '\xa1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1', '{"id": 1, "type": "profile", "entity_type": "profile", "platform": "GitHub", "value": "https://github.com/someone", "confidence": 0.87, "source": "github", "metadata": {"bio": "a\u0000b “quoted”", "followers": 12}, "created_at": "2026-03-01T12:00:01.500Z"}', 1);
INSERT INTO public.results VALUES ('01900000-0000-7000-8000-0000000000d1', 2, '\xa2a2a2a2a2a2a2a2a2a2a2a2a2a2a2a2', '{"id": 2, "type": "account", "entity_type": "account", "platform": null, "value": null, "confidence": 0.87, "source": "github", "metadata": {}, "created_at": "2026-03-01T12:00:01.500Z"}', 2);
INSERT INTO public.results VALUES ('01900000-0000-7000-8000-0000000000d3', 1, '\xa3a3a3a3a3a3a3a3a3a3a3a3a3a3a3a3', '{"id": 1, "type": "profile", "entity_type": "profile", "platform": "Gravatar", "value": "me", "confidence": 0.87, "source": "gravatar", "metadata": {"nested": {"list": [1, 2, {"x": null}]}}, "created_at": "2026-03-01T12:00:01.500Z"}', 1);
INSERT INTO public.running VALUES (1, '2026-03-01 12:00:00.123+00', '2026-03-01 12:01:00.123+00');
INSERT INTO public.runs VALUES ('01900000-0000-7000-8000-0000000000d1', '01900000-0000-7000-8000-00000000000a', 'completed', 'username', false, false, 2, 1, '2026-03-01 12:00:00.123+00', '2026-03-01 12:01:00.25+00', NULL, NULL, ' @Someone ’ 名前', '{"modules_total":2,"modules_completed":2,"modules_with_hits":1}', '{"checked": 2, "conclusive": 1, "hit": 1, "miss": 0, "blocked": 0, "rate_limited": 0, "timeout": 1, "error": 0, "unreliable": 0, "skipped": 0, "ratio": 0.5}', NULL, '[]', '[["github","GitHub","hit",null,200,345],["mastodon","Mastodon","timeout","timeout_connect",null,10000]]', 2, 0, NULL, NULL, '{}', '{"depth":1,"max_searches":5,"links":"verified"}', NULL, NULL, 0, '[]', 'completed', '{"leads":{"followed":1,"not_followed":0}}', NULL, NULL, NULL, NULL, NULL, NULL, '["case-7"]', 'called back');
INSERT INTO public.runs VALUES ('01900000-0000-7000-8000-0000000000d2', '01900000-0000-7000-8000-00000000000a', 'failed', 'username', true, false, 0, 0, '2026-03-01 12:00:01+00', '2026-03-01 12:02:00+00', NULL, NULL, 'nobody', '{"modules_total":1,"modules_completed":1,"modules_with_hits":0}', '{"checked": 2, "conclusive": 1, "hit": 1, "miss": 0, "blocked": 0, "rate_limited": 0, "timeout": 1, "error": 0, "unreliable": 0, "skipped": 0, "ratio": 0.5}', '{"code":"no_conclusion","message":"no module came to a conclusion"}', '["github"]', '[["github","GitHub","error","dns",null,12]]', 2, 0, NULL, NULL, '{}', NULL, NULL, NULL, 0, '[]', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.runs VALUES ('01900000-0000-7000-8000-0000000000d3', '01900000-0000-7000-8000-00000000000a', 'running', 'email', false, false, 1, 1, '2026-03-01 12:00:02+00', NULL, '01900000-0000-7000-8000-0000000000e1', '2026-03-01 12:00:32+00', 'me@example.com', '{"modules_total":2,"modules_completed":1,"modules_with_hits":1}', '{"checked": 2, "conclusive": 1, "hit": 1, "miss": 0, "blocked": 0, "rate_limited": 0, "timeout": 1, "error": 0, "unreliable": 0, "skipped": 0, "ratio": 0.5}', NULL, '["gravatar","keybase"]', '[["gravatar","Gravatar","hit",null,200,80]]', 2, 3, '2026-03-01 12:00:02.023+00', NULL, '{}', NULL, NULL, NULL, 0, '[]', NULL, NULL, NULL, '01900000-0000-7000-8000-0000000000b1', NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.runs VALUES ('01900000-0000-7000-8000-0000000000d4', '01900000-0000-7000-8000-00000000000a', 'running', 'username', false, false, 0, 1, '2026-03-01 12:00:03+00', NULL, NULL, NULL, 'waiting', '{"modules_total":2,"modules_completed":0,"modules_with_hits":0}', '{}', NULL, '["github","mastodon"]', '[]', 0, 0, NULL, 1, '{}', NULL, NULL, NULL, 0, '[]', NULL, NULL, '01900000-0000-7000-8000-0000000000f1', NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.runs VALUES ('01900000-0000-7000-8000-0000000000d5', '01900000-0000-7000-8000-00000000000a', 'completed', 'username', false, false, 0, 1, '2026-03-01 12:00:04+00', '2026-03-01 12:00:09.123+00', NULL, NULL, 'lead', '{"modules_total":2,"modules_completed":2,"modules_with_hits":1}', '{"checked": 2, "conclusive": 1, "hit": 1, "miss": 0, "blocked": 0, "rate_limited": 0, "timeout": 1, "error": 0, "unreliable": 0, "skipped": 0, "ratio": 0.5}', NULL, '[]', '[["github","GitHub","hit",null,200,345],["mastodon","Mastodon","timeout","timeout_connect",null,10000]]', 2, 0, NULL, NULL, '{}', NULL, '01900000-0000-7000-8000-0000000000d1', '01900000-0000-7000-8000-0000000000d1', 1, '[]', NULL, NULL, NULL, NULL, NULL, NULL, NULL, '{}', NULL, NULL);
INSERT INTO public.schema_version VALUES (1, '0001_foundation', '2026-11-27 15:52:39.196+00', '322a803031e82150d9fe23f8266dd2a5789788e2b1d6adb529261b9de1de29cf');
INSERT INTO public.schema_version VALUES (2, '0002_several_sources', '2026-11-27 15:52:39.277+00', 'a0668149c609055ad4d6e58f80e83b8ee4f51d2a0318356e4cd4270fdc7204b2');
INSERT INTO public.schema_version VALUES (3, '0003_module_health', '2026-11-27 15:52:39.289+00', '8abafa58880af20b418e0ed84f25f00f4090b624b7476be706571a7cdf4af87e');
INSERT INTO public.schema_version VALUES (4, '0004_shared', '2026-11-27 15:52:39.329+00', 'e79f1473a77c48168781de7ed8adfeb773a592863f1ffadc27c9f5117c1db12f');
INSERT INTO public.schema_version VALUES (5, '0005_audit_and_retention', '2026-11-27 15:52:39.351+00', '32d1621914d8e8b1263aac40ec9665bcd71aed0039b5a3ce11a48735cf200c2e');
INSERT INTO public.schema_version VALUES (6, '0006_runs_ended', '2026-11-27 15:52:39.383+00', 'd408ba5366158faeaea27217b79feff292df77209281db629209631a68d100ba');
INSERT INTO public.schema_version VALUES (7, '0007_lists_filtered', '2026-11-27 15:52:39.397+00', '492960a33ddf62decdc4c8221e36ef4695a80fa827fbeff214e771ea5253bdf0');
INSERT INTO public.schema_version VALUES (8, '0008_web', '2026-11-27 15:52:39.402+00', 'fd59a22e4e03f993ab97e617e7a76b54c3bf746dbd512ce0f19648dd81777368');
INSERT INTO public.schema_version VALUES (9, '0009_queue', '2026-11-27 15:52:39.46+00', '692846423861507a5884d57d17555826ed687bbf0045e45aa7649efbe2a46abb');
INSERT INTO public.schema_version VALUES (10, '0010_running', '2026-11-27 15:52:39.472+00', '09b1dea0a7b2a4fcdf596273f3d6a674730dbbeb07ef4344f72eac159370d646');
INSERT INTO public.schema_version VALUES (11, '0011_deadlines', '2026-11-27 15:52:39.531+00', '35077e267e21a77cc7f47adfd14fc262fb583442104c77fa6bfdacbcdec270da');
INSERT INTO public.schema_version VALUES (12, '0012_host_circuits', '2026-11-27 15:52:39.561+00', '2aae7974ae7cc3d49c413bfa4e96f71d03525576ec5e2b0947efec32de04b145');
INSERT INTO public.schema_version VALUES (13, '0013_module_quarantines', '2026-11-27 15:52:39.578+00', 'aa2b682a565e1a6f10f538fc1f5337b45b7e81b644b18d59bcdc7df0c5e1e772');
INSERT INTO public.schema_version VALUES (14, '0014_catalog_bundles', '2026-11-27 15:52:39.606+00', '621c431e0bc1d31669147de5ece6cf3b7eeb344b30c08fd261e73e173a1426f7');
INSERT INTO public.schema_version VALUES (15, '0015_families', '2026-11-27 15:52:39.62+00', '1a0211db20c1c06ff3b27c8b1b05f453f2bec391847637d83b9a41bfbd1d27b6');
INSERT INTO public.schema_version VALUES (16, '0016_thumbnails', '2026-11-27 15:52:39.635+00', '3d945d3054b54f4646304e741549db687f6913ec78a70c52f2cd522c1e9ee406');
INSERT INTO public.schema_version VALUES (17, '0017_webhooks', '2026-11-27 15:52:39.642+00', '09ac15b2e669ab1e678117a72cd05e67ceedd1f66342af982ec1ecbb9058e112');
INSERT INTO public.schema_version VALUES (18, '0018_watches', '2026-11-27 15:52:39.655+00', '998c23f81bf68679896eb75d1ada4b328204bcc5aab6ab95dcf04dde03f2ecb1');
INSERT INTO public.schema_version VALUES (19, '0019_batches', '2026-11-27 15:52:39.666+00', 'd3b81fb16d27a4d9080dca64c01fe31af78fd931995b849480d40e056146eac7');
INSERT INTO public.schema_version VALUES (20, '0020_stopping', '2026-11-27 15:52:39.749+00', 'd5030e4b29058db1e3d080c33912d597d62d7a77a82ae6f4482d58af83915e3f');
INSERT INTO public.schema_version VALUES (21, '0021_notes', '2026-11-27 15:52:39.807+00', '623dc5f5864642ad992aed78cd866505555382f63f0c17012e7ffce2f35b36a4');
INSERT INTO public.schema_version VALUES (22, '0022_queue_order', '2026-11-27 15:52:39.942+00', '7850d37a0bdf21bcd906be6d8e0db305cfd84a48d6a58a67fd554e798fb07321');
INSERT INTO public.schema_version VALUES (23, '0023_queue_counts', '2026-11-27 15:52:40.064+00', '5e1d5e51105779012c742341f2fff1c47a975011731b8b9581ddad2d1931d0ce');
INSERT INTO public.set_up_links VALUES ('\x5555555555555555555555555555555555555555555555555555555555555555', '01900000-0000-7000-8000-00000000000b', '2026-03-01 12:00:00.123+00', '2100-01-01 00:00:00+00');
INSERT INTO public.sign_in_attempts VALUES ('\x6666666666666666666666666666666666666666666666666666666666666666', 1772366400123);
INSERT INTO public.thumbnails VALUES ('01900000-0000-7000-8000-0000000000d1', 1, '\x89504e470d0a1a0a');
INSERT INTO public.watch_changes VALUES ('01900000-0000-7000-8000-0000000000cc', '01900000-0000-7000-8000-0000000000f1', 'added', '01900000-0000-7000-8000-0000000000d1', '01900000-0000-7000-8000-0000000000d4', '2026-03-01 12:00:00.123+00', '{"type":"account","value":"someone","after_id":1}');
INSERT INTO public.watches VALUES ('01900000-0000-7000-8000-0000000000f1', '01900000-0000-7000-8000-00000000000a', 'username', 'waiting', false, '{}', '{}', false, 86400, '["added"]', '01900000-0000-7000-8000-00000000003b', NULL, '2100-01-01 00:00:00+00', '2026-03-01 12:00:00.123+00', '01900000-0000-7000-8000-0000000000d4', true, NULL);
INSERT INTO public.web_sessions VALUES ('01900000-0000-7000-8000-00000000005e', '01900000-0000-7000-8000-00000000000a', '\x3333333333333333333333333333333333333333333333333333333333333333', '\x4444444444444444444444444444444444444444444444444444444444444444', '2026-03-01 12:00:00.123+00', '2026-03-01 12:00:00.123+00', '2100-01-01 00:00:00+00', 'Firefox', '192.0.2.1');
INSERT INTO public.webhook_deliveries VALUES ('01900000-0000-7000-8000-0000000000de', '01900000-0000-7000-8000-00000000003b', 'run.completed', '{"type":"run.completed"}', '2026-03-01 12:00:00.123+00', 'pending', '2026-03-01 12:00:01.123+00', NULL, 1, 1, '2026-03-01 12:00:00.123+00', 500, NULL, 12, 'HTTP/1.1 500');
INSERT INTO public.webhooks VALUES ('01900000-0000-7000-8000-00000000003b', '01900000-0000-7000-8000-00000000000a', 'https://hooks.example/in', '["run.completed"]', '\x777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777', NULL, NULL, NULL, '2026-03-01 12:00:00.123+00', true, '2026-03-01 12:00:00.123+00');
SELECT pg_catalog.setval('public.audit_id_seq', 20, true);
ALTER TABLE ONLY public.accounts
    ADD CONSTRAINT accounts_email_key UNIQUE (email);
ALTER TABLE ONLY public.accounts
    ADD CONSTRAINT accounts_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.annotations
    ADD CONSTRAINT annotations_pkey PRIMARY KEY (run, result);
ALTER TABLE ONLY public.api_keys
    ADD CONSTRAINT api_keys_hash_key UNIQUE (hash);
ALTER TABLE ONLY public.api_keys
    ADD CONSTRAINT api_keys_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.audit
    ADD CONSTRAINT audit_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.batch_rows
    ADD CONSTRAINT batch_rows_pkey PRIMARY KEY (batch, "position");
ALTER TABLE ONLY public.batch_rows
    ADD CONSTRAINT batch_rows_run_key UNIQUE (run);
ALTER TABLE ONLY public.batches
    ADD CONSTRAINT batches_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.catalog_bundles
    ADD CONSTRAINT catalog_bundles_pkey PRIMARY KEY (serial);
ALTER TABLE ONLY public.charges
    ADD CONSTRAINT charges_pkey PRIMARY KEY (run, kind);
ALTER TABLE ONLY public.credit_usage
    ADD CONSTRAINT credit_usage_pkey PRIMARY KEY (account, cycle_start);
ALTER TABLE ONLY public.followed_leads
    ADD CONSTRAINT followed_leads_pkey PRIMARY KEY (root, lead);
ALTER TABLE ONLY public.host_circuits
    ADD CONSTRAINT host_circuits_pkey PRIMARY KEY (host, simulated);
ALTER TABLE ONLY public.idempotency_keys
    ADD CONSTRAINT idempotency_keys_pkey PRIMARY KEY (account, key);
ALTER TABLE ONLY public.idempotency_keys
    ADD CONSTRAINT idempotency_keys_run_key UNIQUE (run);
ALTER TABLE ONLY public.module_health
    ADD CONSTRAINT module_health_pkey PRIMARY KEY (module, simulated);
ALTER TABLE ONLY public.module_quarantines
    ADD CONSTRAINT module_quarantines_pkey PRIMARY KEY (module, simulated);
ALTER TABLE ONLY public.passwords
    ADD CONSTRAINT passwords_pkey PRIMARY KEY (account);
ALTER TABLE ONLY public.rate_grants
    ADD CONSTRAINT rate_grants_pkey PRIMARY KEY (account, policy);
ALTER TABLE ONLY public.results
    ADD CONSTRAINT results_pkey PRIMARY KEY (run, id);
ALTER TABLE ONLY public.results
    ADD CONSTRAINT results_run_dedup_key UNIQUE (run, dedup);
ALTER TABLE ONLY public.running
    ADD CONSTRAINT running_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.runs
    ADD CONSTRAINT runs_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.schema_version
    ADD CONSTRAINT schema_version_pkey PRIMARY KEY (version);
ALTER TABLE ONLY public.set_up_links
    ADD CONSTRAINT set_up_links_account_key UNIQUE (account);
ALTER TABLE ONLY public.set_up_links
    ADD CONSTRAINT set_up_links_pkey PRIMARY KEY (token_hash);
ALTER TABLE ONLY public.sign_in_attempts
    ADD CONSTRAINT sign_in_attempts_pkey PRIMARY KEY (subject);
ALTER TABLE ONLY public.thumbnails
    ADD CONSTRAINT thumbnails_pkey PRIMARY KEY (run, result);
ALTER TABLE ONLY public.watch_changes
    ADD CONSTRAINT watch_changes_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.watches
    ADD CONSTRAINT watches_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.web_sessions
    ADD CONSTRAINT web_sessions_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.web_sessions
    ADD CONSTRAINT web_sessions_token_hash_key UNIQUE (token_hash);
ALTER TABLE ONLY public.webhook_deliveries
    ADD CONSTRAINT webhook_deliveries_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.webhooks
    ADD CONSTRAINT webhooks_pkey PRIMARY KEY (id);
CREATE INDEX api_keys_account ON public.api_keys USING btree (account, created_at, id);
CREATE INDEX audit_account ON public.audit USING btree (account, id);
CREATE INDEX audit_at ON public.audit USING btree (at);
CREATE INDEX batch_rows_pending ON public.batch_rows USING btree (batch, "position") WHERE (state = 'pending'::text);
CREATE INDEX batches_account ON public.batches USING btree (account, created_at, id);
CREATE INDEX batches_ended ON public.batches USING btree (ended_at) WHERE (ended_at IS NOT NULL);
CREATE INDEX batches_open ON public.batches USING btree (created_at, id) WHERE (ended_at IS NULL);
CREATE INDEX idempotency_keys_age ON public.idempotency_keys USING btree (created_at);
CREATE INDEX runs_batch ON public.runs USING btree (batch) WHERE (batch IS NOT NULL);
CREATE INDEX runs_begun ON public.runs USING btree (simulated, created_at, id) WHERE ((status = 'running'::text) AND ((turn IS NULL) OR (owner IS NOT NULL)));
CREATE INDEX runs_by_status ON public.runs USING btree (account, status, created_at DESC, id DESC);
CREATE INDEX runs_by_type ON public.runs USING btree (account, search_type, created_at DESC, id DESC);
CREATE INDEX runs_ended ON public.runs USING btree (completed_at) WHERE (completed_at IS NOT NULL);
CREATE INDEX runs_family ON public.runs USING btree (root_run, created_at, id) WHERE (root_run IS NOT NULL);
CREATE INDEX runs_following ON public.runs USING btree (id) WHERE (following = 'running'::text);
CREATE INDEX runs_list ON public.runs USING btree (account, created_at DESC, id DESC);
CREATE INDEX runs_queue ON public.runs USING btree (simulated, turn, created_at, id, account, status, owner) WHERE ((status = 'running'::text) AND (owner IS NULL) AND (turn IS NOT NULL));
CREATE INDEX runs_tagged ON public.runs USING btree (account, created_at DESC, id DESC) WHERE (tags IS NOT NULL);
CREATE INDEX runs_watch ON public.runs USING btree (watch, created_at, id) WHERE (watch IS NOT NULL);
CREATE INDEX watch_changes_age ON public.watch_changes USING btree (at);
CREATE INDEX watch_changes_list ON public.watch_changes USING btree (watch, id);
CREATE INDEX watches_account ON public.watches USING btree (account, id);
CREATE INDEX watches_due ON public.watches USING btree (next_at, id) WHERE ((paused IS NULL) AND (NOT is_open));
CREATE INDEX watches_open ON public.watches USING btree (id) WHERE is_open;
CREATE INDEX watches_unpaid ON public.watches USING btree (account) WHERE (paused = 'credits'::text);
CREATE INDEX web_sessions_account ON public.web_sessions USING btree (account, created_at, id);
CREATE INDEX web_sessions_expiry ON public.web_sessions USING btree (expires_at);
CREATE INDEX webhook_deliveries_age ON public.webhook_deliveries USING btree (created_at);
CREATE INDEX webhook_deliveries_due ON public.webhook_deliveries USING btree (webhook, due_at, id) WHERE (due_at IS NOT NULL);
CREATE INDEX webhook_deliveries_list ON public.webhook_deliveries USING btree (webhook, id);
CREATE INDEX webhooks_account ON public.webhooks USING btree (account, created_at, id);
CREATE TRIGGER audit_is_append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON public.audit FOR EACH STATEMENT EXECUTE FUNCTION public.audit_is_append_only();
ALTER TABLE public.audit ENABLE ALWAYS TRIGGER audit_is_append_only;
ALTER TABLE ONLY public.annotations
    ADD CONSTRAINT annotations_run_result_fkey FOREIGN KEY (run, result) REFERENCES public.results(run, id) ON DELETE CASCADE;
ALTER TABLE ONLY public.api_keys
    ADD CONSTRAINT api_keys_account_fkey FOREIGN KEY (account) REFERENCES public.accounts(id);
ALTER TABLE ONLY public.batch_rows
    ADD CONSTRAINT batch_rows_batch_fkey FOREIGN KEY (batch) REFERENCES public.batches(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.batch_rows
    ADD CONSTRAINT batch_rows_run_fkey FOREIGN KEY (run) REFERENCES public.runs(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.batches
    ADD CONSTRAINT batches_account_fkey FOREIGN KEY (account) REFERENCES public.accounts(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.followed_leads
    ADD CONSTRAINT followed_leads_root_fkey FOREIGN KEY (root) REFERENCES public.runs(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.idempotency_keys
    ADD CONSTRAINT idempotency_keys_account_fkey FOREIGN KEY (account) REFERENCES public.accounts(id);
ALTER TABLE ONLY public.passwords
    ADD CONSTRAINT passwords_account_fkey FOREIGN KEY (account) REFERENCES public.accounts(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.rate_grants
    ADD CONSTRAINT rate_grants_account_fkey FOREIGN KEY (account) REFERENCES public.accounts(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.results
    ADD CONSTRAINT results_run_fkey FOREIGN KEY (run) REFERENCES public.runs(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.runs
    ADD CONSTRAINT runs_account_fkey FOREIGN KEY (account) REFERENCES public.accounts(id);
ALTER TABLE ONLY public.set_up_links
    ADD CONSTRAINT set_up_links_account_fkey FOREIGN KEY (account) REFERENCES public.accounts(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.thumbnails
    ADD CONSTRAINT thumbnails_run_result_fkey FOREIGN KEY (run, result) REFERENCES public.results(run, id) ON DELETE CASCADE;
ALTER TABLE ONLY public.watch_changes
    ADD CONSTRAINT watch_changes_watch_fkey FOREIGN KEY (watch) REFERENCES public.watches(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.watches
    ADD CONSTRAINT watches_account_fkey FOREIGN KEY (account) REFERENCES public.accounts(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.web_sessions
    ADD CONSTRAINT web_sessions_account_fkey FOREIGN KEY (account) REFERENCES public.accounts(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.webhook_deliveries
    ADD CONSTRAINT webhook_deliveries_webhook_fkey FOREIGN KEY (webhook) REFERENCES public.webhooks(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.webhooks
    ADD CONSTRAINT webhooks_account_fkey FOREIGN KEY (account) REFERENCES public.accounts(id) ON DELETE CASCADE;
