"""Commerce: payment tokens with which the registry buys."""

from alembic import op

revision = "0255"
down_revision = "0254"

SQL = """
-- The registry settles such a token by the answer of the service. A purchase reserves its amount.
ALTER TABLE commerce_payment_token
  ADD COLUMN is_bought boolean NOT NULL DEFAULT false,
  ADD CONSTRAINT commerce_payment_token_bought CHECK (NOT is_bought OR is_reserved AND capture_by = 'caller') NOT VALID;
"""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(SQL)
