"""Commerce: firm quotes that are neither used nor over, a slot for each."""

from alembic import op

revision = "0256"
down_revision = "0255"

SQL = """
CREATE TABLE commerce_firm_quote (
  caller text NOT NULL,
  slot smallint NOT NULL CHECK (slot BETWEEN 1 AND 100),
  quote_id uuid NOT NULL,
  expires_at timestamptz NOT NULL,
  PRIMARY KEY (caller, slot)
);
"""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(SQL)
