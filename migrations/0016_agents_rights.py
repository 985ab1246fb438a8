"""Agents: spend policies and approvals, capabilities."""

from alembic import op

revision = "0016"
down_revision = "0015"

SQL = """
-- Whether the agent has a row in agents_spend_policy: read with every token, so that nobody else looks there.
ALTER TABLE agents_agent ADD COLUMN is_governed boolean NOT NULL DEFAULT false;

-- What an owner lets an agent pay; a null bounds nothing. The row is locked by whoever pays under it.
CREATE TABLE agents_spend_policy (
  agent_id bigint PRIMARY KEY REFERENCES agents_agent,
  per_tx_max bigint CHECK (per_tx_max >= 0),
  per_day_max bigint CHECK (per_day_max >= 0),
  allowlist text[],
  approval_over bigint CHECK (approval_over >= 0),
  updated_at timestamptz NOT NULL DEFAULT now()
);

-- What a governed agent paid on a day (UTC), fees left out. A day of large sums passes 64 bits.
CREATE TABLE agents_spending (
  agent_id bigint NOT NULL REFERENCES agents_agent,
  day date NOT NULL,
  spent numeric(38, 0) NOT NULL CHECK (spent <> 'NaN' AND spent >= 0),
  PRIMARY KEY (agent_id, day)
);

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
  CHECK (status <> 'pending' OR decided_at IS NULL),
  CHECK (status NOT IN ('approved', 'denied') OR decided_at IS NOT NULL),
  CHECK (used_at IS NULL OR status = 'approved')
);
CREATE INDEX agents_spend_approval_of_agent ON agents_spend_approval (agent_id, created_at DESC, id);
-- A payment that is asked for again while the owner thinks is the same question.
CREATE UNIQUE INDEX agents_spend_approval_pending ON agents_spend_approval (agent_id, payee, amount)
  WHERE status = 'pending';
CREATE INDEX agents_spend_approval_open ON agents_spend_approval (expires_at)
  WHERE status IN ('pending', 'approved') AND used_at IS NULL;

-- A capability and those drawn from it are a tree; who changes any of them locks its root first.
CREATE TABLE agents_capability (
  id uuid PRIMARY KEY,
  root_id uuid NOT NULL REFERENCES agents_capability,
  parent_id uuid REFERENCES agents_capability,
  depth smallint NOT NULL CHECK (depth BETWEEN 0 AND 3),
  -- From the root down to itself.
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
"""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(SQL)
