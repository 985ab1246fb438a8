"""Ledger: stakes and releases since a moment, for the weight of votes."""

from alembic import op

revision = "2026113083"
down_revision = "2026113081"


def upgrade() -> None:
    op.execute("""
        CREATE INDEX ledger_transaction_staked_since ON ledger_transaction (recorded_at)
        WHERE tx_type IN ('stake', 'unstake')
    """)
