"""Commerce: settlements of slashes with other registries; ledger: what was issued on the word of another registry."""

from alembic import op

revision = "0123"
down_revision = "0122"

SQL = """
-- `outgoing`: an agent of the peer lost a dispute that was decided here. `incoming`: an agent here lost one decided there.
CREATE TABLE commerce_settlement (
  settlement_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  direction text NOT NULL CHECK (direction IN ('incoming', 'outgoing')),
  peer text NOT NULL CHECK (starts_with(peer, 'spiffe://')),
  frame text NOT NULL,
  -- The number of the dispute at the registry that decided it.
  dispute_id bigint NOT NULL CHECK (dispute_id > 0),
  defendant_did text NOT NULL CHECK (length(defendant_did) <= 512),
  complainant_did text NOT NULL CHECK (length(complainant_did) <= 512),
  -- In the unit of the defendant's registry.
  amount bigint NOT NULL CHECK (amount > 0),
  currency text NOT NULL,
  status text NOT NULL CHECK (status IN ('PENDING_SLASH', 'SLASHING', 'SLASHED', 'SETTLED', 'FAILED', 'EXPIRED')),
  auto_approved boolean NOT NULL DEFAULT false,
  slashed_amount bigint NOT NULL DEFAULT 0 CHECK (slashed_amount BETWEEN 0 AND amount),
  -- What was ruled for the complainant, and what was issued to it, in the unit of its registry.
  compensation bigint NOT NULL DEFAULT 0 CHECK (compensation >= 0),
  compensated bigint NOT NULL DEFAULT 0 CHECK (compensated BETWEEN 0 AND least(compensation, slashed_amount)),
  tx_id bigint,
  peer_tx_id text,
  reason text CHECK (length(reason) <= 500),
  -- The facts of the dispute with the signature of the registry that decided it, and the last signed outcome of the peer.
  verdict text,
  outcome text,
  is_closed boolean NOT NULL DEFAULT false,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  expires_at timestamptz NOT NULL,
  decided_at timestamptz,
  next_at timestamptz CHECK (NOT is_closed OR next_at IS NULL),
  tries integer NOT NULL DEFAULT 0,
  CHECK (status NOT IN ('SLASHED', 'SETTLED') OR slashed_amount > 0),
  UNIQUE (peer, direction, dispute_id)
);
CREATE INDEX commerce_settlement_due ON commerce_settlement (next_at) WHERE next_at IS NOT NULL;
CREATE INDEX commerce_settlement_pending ON commerce_settlement (expires_at) WHERE status = 'PENDING_SLASH';
CREATE INDEX commerce_settlement_approved ON commerce_settlement (peer, decided_at) WHERE auto_approved;

-- Units issued to complainants because the other registry confirmed a slash; they count toward its net_in_limit.
ALTER TABLE ledger_corridor ADD COLUMN compensated numeric(38) NOT NULL DEFAULT 0 CHECK (compensated >= 0);
"""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(SQL)
