"""Transfers: sagas that an administrator ended, without a decision of the other registry."""

from alembic import op

revision = "0248"
down_revision = "0247"

SQL = """
ALTER TABLE transfers_bridge_saga DROP CONSTRAINT transfers_bridge_saga_check1, DROP CONSTRAINT transfers_bridge_saga_held;
ALTER TABLE transfers_bridge_saga
  ADD CONSTRAINT transfers_bridge_saga_answered CHECK (CASE WHEN state IN ('COMPLETED', 'REFUNDED', 'FAILED')
    THEN answer IS NOT NULL OR coalesce(code, '') = 'PEER_ABANDONED' ELSE answer IS NULL END),
  -- A saga that was in doubt has no hold.
  ADD CONSTRAINT transfers_bridge_saga_held CHECK (CASE WHEN direction = 'redeem' THEN hold_id IS NULL
    ELSE hold_id IS NOT NULL OR state IN ('COMPLETED', 'IN_DOUBT') OR coalesce(code, '') = 'PEER_ABANDONED' END);
-- Slashes that a peer is applying and has not confirmed in 24 hours.
CREATE INDEX commerce_settlement_slashing ON commerce_settlement (expires_at) WHERE status = 'SLASHING' AND direction = 'outgoing';
"""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(SQL)
