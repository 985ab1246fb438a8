"""Ledger: payments for points, from a hold or at once, levies on revenue, and what is distributed of it."""

from alembic import op

revision = "2026120131"
down_revision = "2026113077"


def upgrade() -> None:
    op.execute("""
        ALTER TABLE ledger_transaction
          DROP CONSTRAINT ledger_transaction_tx_type_check,
          ADD CONSTRAINT ledger_transaction_tx_type_check CHECK (tx_type IN ('issue', 'destroy', 'grant', 'transfer', 'stake',
            'unstake', 'reward', 'hold', 'capture', 'release', 'expire', 'out', 'in', 'return', 'swap', 'pool', 'launch',
            'trade', 'levy', 'distribution')),
          DROP CONSTRAINT ledger_transaction_hold,
          ADD CONSTRAINT ledger_transaction_hold CHECK (CASE
            WHEN tx_type IN ('hold', 'capture', 'release', 'expire', 'launch') THEN hold_id IS NOT NULL
            ELSE hold_id IS NULL OR tx_type IN ('destroy', 'trade') END)
    """)
