"""Treasury: a number for the period of a budget, by which an aborted payment finds whether the period still counts it."""

from alembic import op

revision = "2026113072"
down_revision = "2026113071"


def upgrade() -> None:
    # A change from once to a month keeps what is counted, so that the first day of a period does not distinguish it from others.
    op.execute("ALTER TABLE treasury_budget ADD COLUMN period_number integer NOT NULL DEFAULT 0")
    op.execute("ALTER TABLE treasury_outlay ADD COLUMN period_number integer")
