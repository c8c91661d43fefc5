-- What version 1 of the schema looks like, with rows: written by pg_dump. Never changes.
CREATE TABLE public.accounts (
    id uuid NOT NULL,
    email text NOT NULL,
    plan text NOT NULL,
    anchor timestamp with time zone NOT NULL,
    created_at timestamp with time zone NOT NULL
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
CREATE TABLE public.idempotency_keys (
    account uuid NOT NULL,
    key text NOT NULL,
    body_hash bytea NOT NULL,
    run uuid NOT NULL,
    created_at timestamp with time zone NOT NULL,
    CONSTRAINT idempotency_keys_body_hash_check CHECK ((length(body_hash) = 32))
);
CREATE TABLE public.results (
    run uuid NOT NULL,
    id bigint NOT NULL,
    dedup bytea NOT NULL,
    record json NOT NULL,
    CONSTRAINT results_dedup_check CHECK ((length(dedup) = 16))
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
    CONSTRAINT runs_status_check CHECK ((status = ANY (ARRAY['running'::text, 'completed'::text, 'failed'::text])))
)
WITH (fillfactor='70');
CREATE TABLE public.schema_version (
    version bigint NOT NULL,
    name text NOT NULL,
    applied_at timestamp with time zone NOT NULL
);
INSERT INTO public.accounts VALUES ('01900000-0000-7000-8000-00000000000a', 'owner@example.com', 'pro', '2026-01-31 10:00:00.001+00', '2026-01-31 10:00:00.001+00');
INSERT INTO public.accounts VALUES ('01900000-0000-7000-8000-00000000000b', 'zoë@example.com', 'free', '2026-01-31 10:00:00.001+00', '2026-01-31 10:00:00.001+00');
INSERT INTO public.api_keys VALUES ('01900000-0000-7000-8000-0000000000c1', '01900000-0000-7000-8000-00000000000a', '\x1111111111111111111111111111111111111111111111111111111111111111', 'Ab12', 'Läptop 💻', '2026-01-31 11:00:00+00', '2026-03-01 12:00:00+00', NULL);
INSERT INTO public.api_keys VALUES ('01900000-0000-7000-8000-0000000000c2', '01900000-0000-7000-8000-00000000000a', '\x2222222222222222222222222222222222222222222222222222222222222222', 'Zz99', 'old', '2026-01-31 11:00:00+00', '2026-02-01 12:00:00+00', '2026-02-02 00:00:00.007+00');
INSERT INTO public.charges VALUES ('01900000-0000-7000-8000-0000000000d1', 'charge', '01900000-0000-7000-8000-00000000000a', '2026-02-28 10:00:00.001+00', 1, '2026-03-01 12:00:00.123+00');
INSERT INTO public.charges VALUES ('01900000-0000-7000-8000-0000000000d2', 'charge', '01900000-0000-7000-8000-00000000000a', '2026-02-28 10:00:00.001+00', 2, '2026-03-01 12:00:01+00');
INSERT INTO public.charges VALUES ('01900000-0000-7000-8000-0000000000d2', 'refund', '01900000-0000-7000-8000-00000000000a', '2026-02-28 10:00:00.001+00', 2, '2026-03-01 12:02:00+00');
INSERT INTO public.charges VALUES ('01900000-0000-7000-8000-0000000000d3', 'charge', '01900000-0000-7000-8000-00000000000a', '2026-02-28 10:00:00.001+00', 1, '2026-03-01 12:00:02+00');
INSERT INTO public.credit_usage VALUES ('01900000-0000-7000-8000-00000000000a', '2026-01-31 10:00:00.001+00', 3);
INSERT INTO public.credit_usage VALUES ('01900000-0000-7000-8000-00000000000a', '2026-02-28 10:00:00.001+00', 1);
INSERT INTO public.idempotency_keys VALUES ('01900000-0000-7000-8000-00000000000a', 'key-1', '\x0707070707070707070707070707070707070707070707070707070707070707', '01900000-0000-7000-8000-0000000000d1', '2026-03-01 12:00:00.123+00');
INSERT INTO public.results VALUES ('01900000-0000-7000-8000-0000000000d1', 1, '\xa1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1', '{"id": 1, "type": "profile", "entity_type": "profile", "platform": "GitHub", "value": "https://github.com/someone", "confidence": 0.87, "source": "github", "metadata": {"bio": "a\u0000b “quoted”", "followers": 12}, "created_at": "2026-03-01T12:00:01.500Z"}');
INSERT INTO public.results VALUES ('01900000-0000-7000-8000-0000000000d1', 2, '\xa2a2a2a2a2a2a2a2a2a2a2a2a2a2a2a2', '{"id": 2, "type": "account", "entity_type": "account", "platform": null, "value": null, "confidence": 0.87, "source": "github", "metadata": {}, "created_at": "2026-03-01T12:00:01.500Z"}');
INSERT INTO public.results VALUES ('01900000-0000-7000-8000-0000000000d3', 1, '\xa3a3a3a3a3a3a3a3a3a3a3a3a3a3a3a3', '{"id": 1, "type": "profile", "entity_type": "profile", "platform": "Gravatar", "value": "me", "confidence": 0.87, "source": "gravatar", "metadata": {"nested": {"list": [1, 2, {"x": null}]}}, "created_at": "2026-03-01T12:00:01.500Z"}');
INSERT INTO public.runs VALUES ('01900000-0000-7000-8000-0000000000d1', '01900000-0000-7000-8000-00000000000a', 'completed', 'username', false, false, 2, 1, '2026-03-01 12:00:00.123+00', '2026-03-01 12:01:00.25+00', NULL, NULL, ' @Someone ’ 名前', '{"modules_total":2,"modules_completed":2,"modules_with_hits":1}', '{"checked": 2, "conclusive": 1, "hit": 1, "miss": 0, "blocked": 0, "rate_limited": 0, "timeout": 1, "error": 0, "unreliable": 0, "skipped": 0, "ratio": 0.5}', NULL, '["github","mastodon"]', '[["github","GitHub","hit",null,200,345],["mastodon","Mastodon","timeout","timeout_connect",null,10000]]');
INSERT INTO public.runs VALUES ('01900000-0000-7000-8000-0000000000d2', '01900000-0000-7000-8000-00000000000a', 'failed', 'username', true, false, 0, 0, '2026-03-01 12:00:01+00', '2026-03-01 12:02:00+00', NULL, NULL, 'nobody', '{"modules_total":1,"modules_completed":1,"modules_with_hits":0}', '{"checked": 1, "conclusive": 0, "hit": 0, "miss": 0, "blocked": 0, "rate_limited": 0, "timeout": 0, "error": 1, "unreliable": 0, "skipped": 0, "ratio": 0.0}', '{"code":"no_conclusion","message":"no module came to a conclusion"}', '["github"]', '[["github","GitHub","error","dns",null,12]]');
INSERT INTO public.runs VALUES ('01900000-0000-7000-8000-0000000000d3', '01900000-0000-7000-8000-00000000000a', 'running', 'email', false, false, 1, 1, '2026-03-01 12:00:02+00', NULL, '01900000-0000-7000-8000-0000000000e1', '2026-03-01 12:00:32+00', 'me@example.com', '{"modules_total":2,"modules_completed":1,"modules_with_hits":1}', '{"checked": 1, "conclusive": 1, "hit": 1, "miss": 0, "blocked": 0, "rate_limited": 0, "timeout": 0, "error": 0, "unreliable": 0, "skipped": 0, "ratio": 1.0}', NULL, '["gravatar","keybase"]', '[["gravatar","Gravatar","hit",null,200,80]]');
INSERT INTO public.schema_version VALUES (1, '0001_foundation', '2026-02-01 00:00:00+00');
ALTER TABLE ONLY public.accounts
    ADD CONSTRAINT accounts_email_key UNIQUE (email);
ALTER TABLE ONLY public.accounts
    ADD CONSTRAINT accounts_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.api_keys
    ADD CONSTRAINT api_keys_hash_key UNIQUE (hash);
ALTER TABLE ONLY public.api_keys
    ADD CONSTRAINT api_keys_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.charges
    ADD CONSTRAINT charges_pkey PRIMARY KEY (run, kind);
ALTER TABLE ONLY public.credit_usage
    ADD CONSTRAINT credit_usage_pkey PRIMARY KEY (account, cycle_start);
ALTER TABLE ONLY public.idempotency_keys
    ADD CONSTRAINT idempotency_keys_pkey PRIMARY KEY (account, key);
ALTER TABLE ONLY public.idempotency_keys
    ADD CONSTRAINT idempotency_keys_run_key UNIQUE (run);
ALTER TABLE ONLY public.results
    ADD CONSTRAINT results_pkey PRIMARY KEY (run, id);
ALTER TABLE ONLY public.results
    ADD CONSTRAINT results_run_dedup_key UNIQUE (run, dedup);
ALTER TABLE ONLY public.runs
    ADD CONSTRAINT runs_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.schema_version
    ADD CONSTRAINT schema_version_pkey PRIMARY KEY (version);
CREATE INDEX api_keys_account ON public.api_keys USING btree (account, created_at, id);
CREATE INDEX idempotency_keys_age ON public.idempotency_keys USING btree (created_at);
CREATE INDEX runs_list ON public.runs USING btree (account, created_at DESC, id DESC);
CREATE INDEX runs_running ON public.runs USING btree (created_at, id) WHERE (status = 'running'::text);
ALTER TABLE ONLY public.api_keys
    ADD CONSTRAINT api_keys_account_fkey FOREIGN KEY (account) REFERENCES public.accounts(id);
ALTER TABLE ONLY public.charges
    ADD CONSTRAINT charges_account_fkey FOREIGN KEY (account) REFERENCES public.accounts(id);
ALTER TABLE ONLY public.credit_usage
    ADD CONSTRAINT credit_usage_account_fkey FOREIGN KEY (account) REFERENCES public.accounts(id);
ALTER TABLE ONLY public.idempotency_keys
    ADD CONSTRAINT idempotency_keys_account_fkey FOREIGN KEY (account) REFERENCES public.accounts(id);
ALTER TABLE ONLY public.results
    ADD CONSTRAINT results_run_fkey FOREIGN KEY (run) REFERENCES public.runs(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.runs
    ADD CONSTRAINT runs_account_fkey FOREIGN KEY (account) REFERENCES public.accounts(id);
