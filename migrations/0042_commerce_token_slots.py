"""Commerce: an authorized token whose time is over can leave its slot before it is ended."""

from alembic import op

revision = "0042"
down_revision = "0041"

SQL = """
ALTER TABLE commerce_payment_token ALTER COLUMN slot DROP NOT NULL;
"""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(SQL)
