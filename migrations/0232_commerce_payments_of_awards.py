"""Commerce: which payment a settlement is about, so that a ruling that a restore lost is not carried out twice."""

from alembic import op

revision = "0232"
down_revision = "0230"

SQL = """
-- The name of the payment at the registry that decided the dispute, as it states it to the other one.
ALTER TABLE commerce_settlement ADD COLUMN payment text CHECK (length(payment) BETWEEN 1 AND 200);
-- A complainant is compensated once for a payment, whichever number its dispute has.
CREATE UNIQUE INDEX commerce_settlement_awarded ON commerce_settlement (peer, complainant_did, payment) WHERE direction = 'awarded';
CREATE UNIQUE INDEX commerce_settlement_owed ON commerce_settlement (peer, complainant_did, payment)
  WHERE direction = 'owed' AND status = 'SETTLED';
CREATE INDEX commerce_settlement_incoming ON commerce_settlement (peer, complainant_did, payment) WHERE direction = 'incoming';
ALTER TABLE commerce_settlement DROP CONSTRAINT commerce_settlement_written_off;
ALTER TABLE commerce_settlement ADD CONSTRAINT commerce_settlement_written_off CHECK (written_off_reason IS NULL
  OR direction IN ('outgoing', 'owed') AND is_closed AND next_at IS NULL AND uncollected_since IS NOT NULL);
"""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(SQL)
