"""Commerce: contracts, their milestones and their history."""

from alembic import op

revision = "0036"
down_revision = "0035"

SQL = """
-- An agreement of two agents. An act locks the row, and is judged by the clock read after that lock.
CREATE TABLE commerce_contract (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  version smallint NOT NULL CHECK (version IN (1, 2)),
  title text NOT NULL CHECK (length(title) BETWEEN 1 AND 200),
  contract_type text NOT NULL CHECK (length(contract_type) BETWEEN 1 AND 40),
  amount bigint NOT NULL CHECK (amount > 0),
  currency text NOT NULL,
  contractor_did text NOT NULL CHECK (length(contractor_did) <= 512),
  -- Null is an open proposal: the first to accept becomes the provider.
  provider_did text CHECK (length(provider_did) <= 512 AND provider_did <> contractor_did),
  terms jsonb NOT NULL,
  acceptance_criteria jsonb NOT NULL,
  submit_by timestamptz,
  review_by timestamptz,
  auto_approve boolean NOT NULL,
  funded boolean NOT NULL,
  status text NOT NULL CHECK (status IN ('PROPOSED', 'ACCEPTED', 'SUBMITTED', 'COMPLETED', 'FAILED', 'CANCELLED',
    'EXPIRED', 'DISPUTED', 'CLOSED')),
  ended_because text CHECK (ended_because IN ('approved', 'cancelled', 'proposal_expired', 'not_submitted', 'rejected',
    'not_reviewed', 'party_revoked', 'ruling')),
  expires_at timestamptz NOT NULL,
  -- When the turn of the work came, or of the milestone whose turn it is.
  turn_at timestamptz,
  -- The deadline that applies, null where none does.
  due_at timestamptz,
  -- For which reasons deadlines do not run, and since when.
  stops text[] NOT NULL DEFAULT '{}',
  stopped_at timestamptz,
  amount_paid bigint NOT NULL DEFAULT 0 CHECK (amount_paid BETWEEN 0 AND amount),
  fee_paid bigint NOT NULL DEFAULT 0 CHECK (fee_paid >= 0),
  payment_tx_id bigint,
  hold_id bigint UNIQUE,
  hold_release_at timestamptz,
  dispute_id bigint,
  submissions integer NOT NULL DEFAULT 0,
  created_at timestamptz NOT NULL,
  accepted_at timestamptz,
  submitted_at timestamptz,
  completed_at timestamptz,
  ended_at timestamptz,
  CHECK (NOT (funded OR auto_approve) OR review_by IS NOT NULL),
  CHECK (status IN ('PROPOSED', 'CANCELLED', 'EXPIRED') OR provider_did IS NOT NULL),
  CHECK (status IN ('PROPOSED', 'CANCELLED', 'EXPIRED') OR (hold_id IS NOT NULL) = funded),
  CHECK ((status IN ('COMPLETED', 'FAILED', 'CANCELLED', 'EXPIRED', 'CLOSED')) <= (ended_because IS NOT NULL)),
  CHECK (status <> 'COMPLETED' OR amount_paid = amount),
  CHECK ((stops = '{}') = (stopped_at IS NULL)),
  CHECK (stops = '{}' OR due_at IS NULL)
) WITH (fillfactor = 70);
CREATE INDEX commerce_contract_of_contractor ON commerce_contract (contractor_did, id);
CREATE INDEX commerce_contract_of_provider ON commerce_contract (provider_did, id);
CREATE INDEX commerce_contract_proposals ON commerce_contract (contractor_did) WHERE status = 'PROPOSED';
CREATE INDEX commerce_contract_offered ON commerce_contract (id) WHERE status = 'PROPOSED' AND provider_did IS NULL;
CREATE INDEX commerce_contract_public ON commerce_contract (id) WHERE contract_type = 'attestation';

CREATE TABLE commerce_contract_milestone (
  contract_id bigint NOT NULL REFERENCES commerce_contract,
  index smallint NOT NULL CHECK (index >= 0),
  title text NOT NULL CHECK (length(title) BETWEEN 1 AND 200),
  amount bigint NOT NULL CHECK (amount > 0),
  due timestamptz,
  state text NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'submitted', 'approved', 'released')),
  payment_tx_id bigint,
  submitted_at timestamptz,
  PRIMARY KEY (contract_id, index),
  CHECK ((state = 'approved') = (payment_tx_id IS NOT NULL))
);

-- Every move of a contract; without an actor the registry made it.
CREATE TABLE commerce_contract_history (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  contract_id bigint NOT NULL REFERENCES commerce_contract,
  act text NOT NULL,
  actor_did text,
  milestone smallint,
  note text CHECK (length(note) <= 2000),
  deliverable jsonb,
  at timestamptz NOT NULL
);
CREATE INDEX commerce_contract_history_of ON commerce_contract_history (contract_id, id);

-- Whether a party was suspended when a deadline came.
CREATE INDEX enforcement_suspension_of_agent ON enforcement_suspension (did, suspended_at);
"""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(SQL)
