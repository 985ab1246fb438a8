"""Treasury: owner of each bid on a work order, by which the bids of one owner are counted."""

from alembic import op

revision = "2026113071"
down_revision = "2026113084"


def upgrade() -> None:
    # Bids of before have none, and are not counted.
    op.execute("ALTER TABLE treasury_work_bid ADD COLUMN owner text CHECK (length(owner) BETWEEN 1 AND 100)")
    op.execute("CREATE INDEX treasury_work_bid_owner ON treasury_work_bid (work_order_id, owner)")
