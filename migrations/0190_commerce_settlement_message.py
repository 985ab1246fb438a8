"""Commerce: the signed request or award of a peer is kept whole, as evidence of what was done on its word."""

from alembic import op

revision = "0190"
down_revision = "0189"

SQL = """
-- The compact JWS of the peer on whose word this registry slashed or issued units. It has the facts of the dispute, which
-- `verdict` has alone for settlements that were opened here, or before this column.
ALTER TABLE commerce_settlement ADD COLUMN message text;
"""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(SQL)
