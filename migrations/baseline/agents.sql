-- Agents: credentials and keys, certificates, genesis grants, spend policies and approvals, capabilities, wallets.

-- Agents and their credentials.
CREATE TABLE agents_agent (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  did text NOT NULL UNIQUE CHECK (length(did) BETWEEN 10 AND 512),
  developer_id bigint NOT NULL,
  client_id text NOT NULL UNIQUE CHECK (client_id ~ '^agent-[a-z0-9]{16}$'),
  client_secret_sha256 bytea NOT NULL CHECK (octet_length(client_secret_sha256) = 32),
  name text NOT NULL CHECK (length(name) <= 2048),
  status text NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'suspended', 'revoked')),
  roles text[] NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  last_active_at timestamptz,
  revoked_at timestamptz CHECK (revoked_at IS NULL OR status = 'revoked'),
  -- Number of the client secret, which a token names.
  secret_number integer NOT NULL DEFAULT 1 CHECK (secret_number > 0),
  -- Existence of a row in agents_spend_policy: read with every token, so that others need no second query.
  is_governed boolean NOT NULL DEFAULT false,
  version integer NOT NULL DEFAULT 0
) WITH (fillfactor = 80);
CREATE INDEX agents_agent_developer ON agents_agent (developer_id, id);
-- Receive addresses: the last 20 bytes of SHA-256("hansa-payee:" and the DID). A DID is ASCII without a backslash.
CREATE INDEX agents_agent_receive_address ON agents_agent (substr(sha256(('hansa-payee:' || did)::bytea), 13));

-- Every key that an agent had: a signature is verified with the key that was valid when it was made.
CREATE TABLE agents_key (
  agent_id bigint NOT NULL REFERENCES agents_agent,
  number integer NOT NULL CHECK (number > 0),
  public_key bytea NOT NULL CHECK (octet_length(public_key) = 32),
  valid_from timestamptz NOT NULL DEFAULT now(),
  valid_until timestamptz CHECK (valid_until > valid_from),
  PRIMARY KEY (agent_id, number)
);
CREATE UNIQUE INDEX agents_key_current ON agents_key (agent_id) WHERE valid_until IS NULL;

-- Tokens of developers, with which an agent is created without a login.
CREATE TABLE agents_bootstrap_token (
  token_sha256 bytea PRIMARY KEY CHECK (octet_length(token_sha256) = 32),
  developer_id bigint NOT NULL,
  agent_type_hint text CHECK (length(agent_type_hint) <= 128),
  requested_by text CHECK (length(requested_by) <= 128),
  issued_at timestamptz NOT NULL DEFAULT now(),
  expires_at timestamptz NOT NULL CHECK (expires_at > issued_at),
  used_at timestamptz
);
CREATE INDEX agents_bootstrap_token_unused ON agents_bootstrap_token (developer_id) WHERE used_at IS NULL;

-- First agent of each developer, which has the only claim to a grant.
CREATE TABLE agents_genesis_grant (
  developer_id bigint PRIMARY KEY,
  agent_id bigint NOT NULL REFERENCES agents_agent,
  claimed_at timestamptz NOT NULL DEFAULT now(),
  -- Debt of the treasury that could not pay when the agent was created; null: none.
  owed bigint CHECK (owed > 0),
  -- `site` is deleted an hour after the grant was due.
  due_at timestamptz,
  paid_at timestamptz,
  site text CHECK (length(site) <= 64)
);
CREATE INDEX agents_genesis_grant_owed ON agents_genesis_grant (claimed_at, developer_id) WHERE owed IS NOT NULL;
CREATE INDEX agents_genesis_grant_site ON agents_genesis_grant (site, due_at) WHERE site IS NOT NULL;
CREATE INDEX agents_genesis_grant_paid ON agents_genesis_grant (paid_at) WHERE paid_at IS NOT NULL;

-- One identity for each agent that requested one. `disabled` is the agent's own act and lasts until it asks again; `revoked` is an
-- administrator's, and is lifted with the suspension.
CREATE TABLE agents_mtls (
  agent_id bigint PRIMARY KEY REFERENCES agents_agent,
  spiffe_id text NOT NULL UNIQUE CHECK (length(spiffe_id) <= 2048),
  status text NOT NULL DEFAULT 'enrolled' CHECK (status IN ('enrolled', 'disabled', 'revoked')),
  enrolled_at timestamptz NOT NULL DEFAULT now(),
  -- Issue and end of the newest certificate.
  issued_at timestamptz NOT NULL DEFAULT now(),
  expires_at timestamptz NOT NULL CHECK (expires_at > issued_at),
  ended_at timestamptz,
  CHECK ((ended_at IS NULL) = (status = 'enrolled'))
);
CREATE INDEX agents_mtls_ended ON agents_mtls (ended_at, agent_id) WHERE status <> 'enrolled';

-- Limits that an owner sets for an agent's payments; null: no limit. A payment under it locks the row.
CREATE TABLE agents_spend_policy (
  agent_id bigint PRIMARY KEY REFERENCES agents_agent,
  per_tx_max bigint CHECK (per_tx_max >= 0),
  per_day_max bigint CHECK (per_day_max >= 0),
  allowlist text[],
  approval_over bigint CHECK (approval_over >= 0),
  updated_at timestamptz NOT NULL DEFAULT now()
);

-- Payments of a governed agent on a day (UTC), without fees. A day of large sums exceeds 64 bits.
CREATE TABLE agents_spending (
  agent_id bigint NOT NULL REFERENCES agents_agent,
  day date NOT NULL,
  spent numeric(38, 0) NOT NULL CHECK (spent <> 'NaN' AND spent >= 0),
  PRIMARY KEY (agent_id, day)
);

-- Payments that wait for their owner's approval.
CREATE TABLE agents_spend_approval (
  id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
  agent_id bigint NOT NULL REFERENCES agents_agent,
  payee text NOT NULL CHECK (length(payee) BETWEEN 1 AND 512),
  amount bigint NOT NULL CHECK (amount > 0),
  status text NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'approved', 'denied', 'expired')),
  created_at timestamptz NOT NULL DEFAULT now(),
  expires_at timestamptz NOT NULL CHECK (expires_at > created_at),
  decided_at timestamptz,
  used_at timestamptz,
  -- SHA-256 of caller, route and Idempotency-Key of the payment: its repeat finds the same approval.
  request_scope bytea CHECK (octet_length(request_scope) = 32),
  CHECK (status <> 'pending' OR decided_at IS NULL),
  CHECK (status NOT IN ('approved', 'denied') OR decided_at IS NOT NULL),
  CHECK (used_at IS NULL OR status = 'approved')
);
CREATE INDEX agents_spend_approval_of_agent ON agents_spend_approval (agent_id, created_at DESC, id);
-- A payment that is requested again while the owner decides is the same request.
CREATE UNIQUE INDEX agents_spend_approval_pending ON agents_spend_approval (agent_id, payee, amount) WHERE status = 'pending';
CREATE INDEX agents_spend_approval_open ON agents_spend_approval (expires_at) WHERE status IN ('pending', 'approved') AND used_at IS NULL;
CREATE INDEX agents_spend_approval_of_request ON agents_spend_approval (agent_id, request_scope)
  WHERE request_scope IS NOT NULL AND used_at IS NULL;

-- Trees of capabilities; a change of any of them locks its root first.
CREATE TABLE agents_capability (
  id uuid PRIMARY KEY,
  root_id uuid NOT NULL REFERENCES agents_capability,
  parent_id uuid REFERENCES agents_capability,
  depth smallint NOT NULL CHECK (depth BETWEEN 0 AND 3),
  -- Ids from the root down to the row itself.
  path uuid[] NOT NULL,
  token_sha256 bytea NOT NULL UNIQUE CHECK (octet_length(token_sha256) = 32),
  issuer_id bigint NOT NULL REFERENCES agents_agent,
  holder_id bigint REFERENCES agents_agent,
  permissions text[] NOT NULL CHECK (cardinality(permissions) > 0),
  max_per_tx bigint CHECK (max_per_tx > 0),
  allowed_currencies text[],
  counterparty_allow text[],
  operations text[],
  no_redelegate boolean NOT NULL,
  currency text NOT NULL CHECK (currency ~ '^[A-Z]{2,8}$'),
  budget_total bigint CHECK (budget_total > 0),
  spent bigint NOT NULL DEFAULT 0 CHECK (spent >= 0),
  max_uses bigint CHECK (max_uses > 0),
  uses bigint NOT NULL DEFAULT 0 CHECK (uses >= 0),
  created_at timestamptz NOT NULL DEFAULT now(),
  expires_at timestamptz NOT NULL CHECK (expires_at > created_at),
  revoked_at timestamptz,
  CHECK (spent <= budget_total),
  CHECK (uses <= max_uses),
  CHECK (cardinality(path) = depth + 1 AND path[1] = root_id AND path[depth + 1] = id),
  CHECK ((parent_id IS NULL) = (depth = 0)),
  CHECK (parent_id IS NULL OR path[depth] = parent_id)
);
CREATE INDEX agents_capability_tree ON agents_capability (root_id);
CREATE INDEX agents_capability_parent ON agents_capability (parent_id) WHERE parent_id IS NOT NULL;
CREATE INDEX agents_capability_issuer ON agents_capability (issuer_id, created_at DESC);
CREATE INDEX agents_capability_holder ON agents_capability (holder_id, created_at DESC) WHERE holder_id IS NOT NULL;
CREATE INDEX agents_capability_ended ON agents_capability (expires_at) WHERE depth = 0;

-- Wallets of agents. The public key is the point without its prefix; the address is the end of its keccak-256.
CREATE TABLE agents_wallet (
  address bytea PRIMARY KEY CHECK (octet_length(address) = 20),
  agent_id bigint NOT NULL REFERENCES agents_agent,
  public_key bytea NOT NULL CHECK (octet_length(public_key) = 64),
  bound_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX agents_wallet_of_agent ON agents_wallet (agent_id);

-- Newest challenge of an agent that binds a wallet.
CREATE TABLE agents_wallet_challenge (
  agent_id bigint PRIMARY KEY REFERENCES agents_agent,
  address bytea NOT NULL CHECK (octet_length(address) = 20),
  text_sha256 bytea NOT NULL CHECK (octet_length(text_sha256) = 32),
  expires_at timestamptz NOT NULL
);

-- One row: the lock under which grants become due and are paid.
CREATE TABLE agents_grant_places (
  is_lock boolean PRIMARY KEY CHECK (is_lock)
);
INSERT INTO agents_grant_places VALUES (true);
