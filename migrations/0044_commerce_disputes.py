"""Commerce: disputes and their evidence."""

from alembic import op

revision = "0044"
down_revision = "0042"

SQL = """
-- A complaint of one agent about another. `payment` names the payment that it is about (`contract:1`, `token:<uuid>`,
-- `transaction:1`); of each payment an agent complains once. The row of the contract is locked before that of the dispute.
CREATE TABLE commerce_dispute (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  complainant_did text NOT NULL CHECK (length(complainant_did) <= 512),
  defendant_did text NOT NULL CHECK (length(defendant_did) <= 512 AND defendant_did <> complainant_did),
  payment text CHECK (length(payment) <= 64),
  contract_id bigint REFERENCES commerce_contract,
  token_id uuid REFERENCES commerce_payment_token,
  tx_id bigint,
  -- The state to which the contract returns when the dispute is dismissed.
  contract_status text CHECK (contract_status IN ('ACCEPTED', 'SUBMITTED', 'FAILED', 'COMPLETED')),
  -- Who pays in the payment, and what it is worth.
  payer_did text CHECK (payer_did IN (complainant_did, defendant_did)),
  subject_amount bigint CHECK (subject_amount > 0),
  fee_paid bigint NOT NULL DEFAULT 0 CHECK (fee_paid >= 0),
  is_malpractice boolean NOT NULL,
  reason_code text NOT NULL CHECK (reason_code IN ('UNFAIR_FEE', 'SERVICE_NOT_DELIVERED', 'POOR_QUALITY',
    'CONTRACT_VIOLATION', 'OTHER')),
  description text NOT NULL CHECK (length(description) BETWEEN 1 AND 2000),
  claimed_amount bigint CHECK (claimed_amount > 0),
  attestation_ids text[] NOT NULL DEFAULT '{}',
  status text NOT NULL CHECK (status IN ('OPEN', 'VOTING', 'CLOSED')),
  ruling text CHECK (ruling IN ('IN_FAVOR_OF_COMPLAINANT', 'IN_FAVOR_OF_DEFENDANT', 'DISMISSED')),
  compensation_amount bigint NOT NULL DEFAULT 0 CHECK (compensation_amount >= 0),
  slash_requested bigint NOT NULL DEFAULT 0 CHECK (slash_requested >= 0),
  slash_applied bigint NOT NULL DEFAULT 0 CHECK (slash_applied BETWEEN 0 AND slash_requested),
  note text CHECK (length(note) BETWEEN 1 AND 2000),
  -- The administrator who ruled; null where nobody did in time.
  ruled_by bigint,
  opened_at timestamptz NOT NULL,
  evidence_until timestamptz NOT NULL CHECK (evidence_until >= opened_at),
  rule_by timestamptz NOT NULL CHECK (rule_by >= evidence_until),
  voting_at timestamptz,
  closed_at timestamptz,
  UNIQUE (complainant_did, payment),
  CHECK ((payment IS NULL) = (subject_amount IS NULL) AND (payment IS NULL) = (payer_did IS NULL)),
  CHECK ((contract_id IS NULL) = (contract_status IS NULL)),
  CHECK (payment IS NOT NULL OR contract_id IS NULL AND token_id IS NULL AND tx_id IS NULL),
  CHECK (payment IS NOT NULL OR compensation_amount = 0),
  CHECK (ruling = 'IN_FAVOR_OF_COMPLAINANT' OR compensation_amount = 0 AND slash_requested = 0),
  CHECK ((status = 'CLOSED') = (ruling IS NOT NULL) AND (status = 'CLOSED') = (closed_at IS NOT NULL)),
  CHECK ((status = 'OPEN') = (voting_at IS NULL))
) WITH (fillfactor = 80);
-- A contract has at most one dispute at a time.
CREATE UNIQUE INDEX commerce_dispute_of_contract ON commerce_dispute (contract_id) WHERE status <> 'CLOSED';
CREATE INDEX commerce_dispute_of_payment ON commerce_dispute (payment) WHERE payment IS NOT NULL;
CREATE INDEX commerce_dispute_of_complainant ON commerce_dispute (complainant_did, id);
CREATE INDEX commerce_dispute_of_defendant ON commerce_dispute (defendant_did, id);

CREATE TABLE commerce_dispute_evidence (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  dispute_id bigint NOT NULL REFERENCES commerce_dispute,
  by_did text NOT NULL,
  uri text CHECK (length(uri) <= 2048),
  sha256 text NOT NULL CHECK (sha256 ~ '^[0-9a-f]{64}$'),
  note text CHECK (length(note) <= 2000),
  at timestamptz NOT NULL
);
CREATE INDEX commerce_dispute_evidence_of ON commerce_dispute_evidence (dispute_id, id);

-- Which contract a transaction paid.
CREATE INDEX commerce_contract_payment ON commerce_contract (payment_tx_id) WHERE payment_tx_id IS NOT NULL;
CREATE INDEX commerce_contract_milestone_payment ON commerce_contract_milestone (payment_tx_id)
  WHERE payment_tx_id IS NOT NULL;
"""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(SQL)
