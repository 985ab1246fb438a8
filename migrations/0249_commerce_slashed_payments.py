"""Commerce: payments on which slashes of peers rest, each once."""

from alembic import op

revision = "0249"
down_revision = "0248"

SQL = """
CREATE TABLE commerce_slashed_payment (
  peer text NOT NULL,
  transfer_id uuid NOT NULL,
  settlement_id bigint NOT NULL REFERENCES commerce_settlement,
  PRIMARY KEY (peer, transfer_id)
);
"""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(SQL)
