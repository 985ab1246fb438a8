"""Commerce: payment tokens that are paid to agents of other registries."""

from alembic import op

revision = "0110"
down_revision = "0090"

SQL = """
-- The units left by the transfer that has the id of the token; `tx_id` is the movement out of its caller's account.
ALTER TABLE commerce_payment_token
  ADD COLUMN crossed boolean NOT NULL DEFAULT false,
  ADD CONSTRAINT commerce_payment_token_crossed CHECK (NOT crossed OR status = 'settled' AND NOT is_reserved) NOT VALID;
"""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(SQL)
