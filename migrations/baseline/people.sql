-- People: accounts of developers, logins, recovery, API keys, invitations, deletion, requests.

-- Accounts of developers.
CREATE TABLE people_developer (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  name text NOT NULL CHECK (length(name) BETWEEN 1 AND 64),
  -- SHA-256 of the two readings of the name: a reading may be far longer than an index entry can be.
  name_as_written bytea NOT NULL CONSTRAINT people_developer_name_as_written UNIQUE,
  name_in_lower_case bytea NOT NULL CONSTRAINT people_developer_name_in_lower_case UNIQUE,
  email text NOT NULL CHECK (length(email) BETWEEN 3 AND 254),
  password_hash text NOT NULL CHECK (length(password_hash) <= 255),
  is_verified boolean NOT NULL,
  age_confirmed boolean NOT NULL,
  -- Accepted version of the terms; null without consent.
  tos_version text,
  verification_resent_at timestamptz,
  created_at timestamptz NOT NULL DEFAULT now(),
  -- Administrator made by the operator. `areas` decide the rights, regardless of their origin.
  is_admin boolean NOT NULL DEFAULT false,
  areas text[] NOT NULL DEFAULT '{}'
    CHECK (areas <@ ARRAY['admin_platform', 'admin_federation', 'admin_treasury', 'admin_enforcement', 'admin_support']),
  reset_mailed_at timestamptz,
  -- A closed account opens nothing; its personal data is erased soon after.
  closed_at timestamptz
);
-- Addresses are ASCII; the collation keeps the fold independent of the server's locale.
CREATE UNIQUE INDEX people_developer_email ON people_developer (lower(email COLLATE "C"));

-- Recovery keys, looked up among those of one account.
CREATE TABLE people_recovery_key (
  key_hash bytea,
  developer_id bigint NOT NULL REFERENCES people_developer (id),
  PRIMARY KEY (developer_id, key_hash)
);

-- A consumed link stays on the account without its expiry, so that a second visit is recognised.
CREATE TABLE people_verification_link (
  token_hash bytea PRIMARY KEY,
  developer_id bigint NOT NULL REFERENCES people_developer (id),
  expires_at timestamptz
);

-- Logins, each with the family of refresh tokens that follows from it.
CREATE TABLE people_session (
  id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
  developer_id bigint NOT NULL REFERENCES people_developer (id),
  opened_at timestamptz NOT NULL DEFAULT now(),
  ended_at timestamptz,
  continued_at timestamptz NOT NULL DEFAULT now(),
  client text NOT NULL DEFAULT '' CHECK (length(client) <= 200),
  address text NOT NULL DEFAULT '' CHECK (length(address) <= 64),
  -- A session of a browser has a token in a cookie, stored as a hash, and no refresh token. `expires_at` is the end of its idle time or of
  -- the session, the earlier of both; `proved_at` is the time of the last password.
  browser_token_hash bytea UNIQUE CHECK (octet_length(browser_token_hash) = 32),
  expires_at timestamptz,
  proved_at timestamptz,
  second_factor_at timestamptz,
  CONSTRAINT people_session_of_a_browser
    CHECK ((browser_token_hash IS NULL) = (expires_at IS NULL) AND (browser_token_hash IS NULL) = (proved_at IS NULL))
);
CREATE INDEX people_session_open ON people_session (developer_id) WHERE ended_at IS NULL;
CREATE INDEX people_session_idle ON people_session (continued_at);

-- Refresh tokens, each used once.
CREATE TABLE people_refresh_token (
  token_hash bytea PRIMARY KEY,
  session_id uuid NOT NULL REFERENCES people_session (id),
  expires_at timestamptz NOT NULL,
  used_at timestamptz
);
CREATE INDEX people_refresh_token_session ON people_refresh_token (session_id);
CREATE INDEX people_refresh_token_expiry ON people_refresh_token (expires_at);

-- One authenticator app an account; it counts from `enabled_at` on.
CREATE TABLE people_second_factor (
  developer_id bigint PRIMARY KEY REFERENCES people_developer (id),
  sealed_seed bytea NOT NULL,
  enabled_at timestamptz,
  -- Last time step whose code was accepted: no code of it or before is accepted again.
  last_step bigint NOT NULL DEFAULT 0,
  wrong_codes int NOT NULL DEFAULT 0 CHECK (wrong_codes >= 0),
  paused_until timestamptz
);

-- Codes that replace the authenticator app, each once.
CREATE TABLE people_backup_code (
  developer_id bigint NOT NULL REFERENCES people_developer (id),
  code_hash bytea NOT NULL,
  PRIMARY KEY (developer_id, code_hash)
);

-- Logins with the right password whose code is still to come.
CREATE TABLE people_partial_token (
  token_hash bytea PRIMARY KEY,
  developer_id bigint NOT NULL REFERENCES people_developer (id),
  expires_at timestamptz NOT NULL,
  tries int NOT NULL DEFAULT 0 CHECK (tries BETWEEN 0 AND 5)
);
CREATE INDEX people_partial_token_developer ON people_partial_token (developer_id);

-- Rights to set a new password once, without the old one.
CREATE TABLE people_password_grant (
  id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
  developer_id bigint NOT NULL REFERENCES people_developer (id),
  issued_at timestamptz NOT NULL DEFAULT now(),
  expires_at timestamptz NOT NULL
);
CREATE INDEX people_password_grant_developer ON people_password_grant (developer_id);

-- Addresses of requests for a new password, known here or not, until a job looks them up.
CREATE TABLE people_forgotten_password (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  email text NOT NULL CHECK (length(email) <= 254),
  asked_at timestamptz NOT NULL DEFAULT now()
);

-- API keys of developers.
CREATE TABLE people_api_key (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  developer_id bigint NOT NULL REFERENCES people_developer (id),
  key_hash bytea NOT NULL UNIQUE CHECK (octet_length(key_hash) = 32),
  -- Beginning of the key, by which its owner recognises it.
  key_prefix text NOT NULL CHECK (length(key_prefix) <= 16),
  description text NOT NULL CHECK (length(description) BETWEEN 1 AND 100),
  scopes text[] NOT NULL CHECK (cardinality(scopes) > 0),
  created_at timestamptz NOT NULL DEFAULT now(),
  expires_at timestamptz CHECK (expires_at > created_at),
  last_used_at timestamptz,
  revoked_at timestamptz,
  second_factor_at timestamptz
) WITH (fillfactor = 80);
CREATE INDEX people_api_key_owner ON people_api_key (developer_id, id);

-- Invitation codes for new accounts.
CREATE TABLE people_invite (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  code_hash bytea NOT NULL UNIQUE CHECK (octet_length(code_hash) = 32),
  -- Beginning of the code, by which its author recognises it.
  code_prefix text NOT NULL CHECK (length(code_prefix) <= 16),
  author_id bigint NOT NULL REFERENCES people_developer (id),
  note text CHECK (length(note) BETWEEN 1 AND 500),
  -- Areas of an account that registers with the code.
  areas text[] NOT NULL DEFAULT '{}'
    CHECK (areas <@ ARRAY['admin_platform', 'admin_federation', 'admin_treasury', 'admin_enforcement', 'admin_support']),
  max_uses int NOT NULL CHECK (max_uses > 0),
  uses int NOT NULL DEFAULT 0 CHECK (uses BETWEEN 0 AND max_uses),
  created_at timestamptz NOT NULL DEFAULT now(),
  expires_at timestamptz CHECK (expires_at > created_at),
  revoked_at timestamptz
);

-- Invitation of each developer who came by one.
CREATE TABLE people_invite_use (
  developer_id bigint PRIMARY KEY REFERENCES people_developer (id),
  invite_id bigint NOT NULL REFERENCES people_invite (id),
  used_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX people_invite_use_invite ON people_invite_use (invite_id);

-- Requests to delete an account.
CREATE TABLE people_deletion (
  developer_id bigint PRIMARY KEY REFERENCES people_developer (id),
  status text NOT NULL CHECK (status IN ('requested', 'cancelled', 'processing', 'deleted')),
  requested_at timestamptz NOT NULL DEFAULT now(),
  effective_at timestamptz NOT NULL,
  -- Time at which a blocked deletion is tried again.
  next_try_at timestamptz NOT NULL,
  ended_at timestamptz CHECK ((ended_at IS NULL) = (status IN ('requested', 'processing')))
);
CREATE INDEX people_deletion_due ON people_deletion (next_try_at) WHERE status IN ('requested', 'processing');

-- Last requests of each developer and of the developer's agents; a crash may lose some.
CREATE UNLOGGED TABLE people_request_log (
  developer_id bigint NOT NULL,
  number bigint GENERATED ALWAYS AS IDENTITY,
  at timestamptz NOT NULL,
  request_id text NOT NULL,
  method text NOT NULL,
  route text NOT NULL,
  status smallint NOT NULL,
  microseconds integer NOT NULL,
  idempotency_key text,
  agent_did text,
  PRIMARY KEY (developer_id, number)
);

-- At most 1,000 rows of each developer, whose numbers rise in the order of writing. No body and no query of a request is stored. No foreign
-- key: writing a call locks no account.
CREATE TABLE people_call (
  developer_id bigint NOT NULL,
  number bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
  agent_did text,
  request_id text NOT NULL CHECK (char_length(request_id) <= 64),
  called_at timestamptz NOT NULL,
  method text NOT NULL,
  route text NOT NULL,
  status smallint NOT NULL,
  took_microseconds bigint NOT NULL CHECK (took_microseconds >= 0),
  idempotency_key text CHECK (char_length(idempotency_key) <= 255),
  PRIMARY KEY (developer_id, number)
);
CREATE INDEX people_call_by_time ON people_call (called_at);
