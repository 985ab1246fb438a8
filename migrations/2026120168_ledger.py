"""Ledger: corrections of balances, and stakes that grow by their rewards."""

from alembic import op

revision = "2026120168"
down_revision = "2026120161"


def upgrade() -> None:
    op.execute("""
        ALTER TABLE ledger_transaction
          DROP CONSTRAINT ledger_transaction_tx_type_check,
          ADD CONSTRAINT ledger_transaction_tx_type_check CHECK (tx_type IN ('issue', 'destroy', 'grant', 'transfer', 'stake',
            'unstake', 'reward', 'hold', 'capture', 'release', 'expire', 'out', 'in', 'return', 'swap', 'pool', 'launch',
            'trade', 'levy', 'distribution', 'correction', 'compound'))
    """)
    op.execute("""
        -- A correction is made once for each reference as well. The older indexes stay for the previous version.
        CREATE UNIQUE INDEX ledger_transaction_reference ON ledger_transaction (tx_type, ref)
          WHERE tx_type IN ('issue', 'destroy', 'correction');
        CREATE INDEX ledger_transaction_stakes ON ledger_transaction (payee_id, id)
          WHERE tx_type IN ('stake', 'unstake', 'reward', 'compound');
        CREATE INDEX ledger_transaction_stakes_since ON ledger_transaction (recorded_at)
          WHERE tx_type IN ('stake', 'unstake', 'compound')
    """)
    op.execute("""
        -- Rewards of such a position are added to it; `amount` is what was ever put into it, these rewards included.
        ALTER TABLE ledger_stake_position ADD COLUMN auto_compound boolean NOT NULL DEFAULT false;
        CREATE INDEX ledger_stake_position_compounding ON ledger_stake_position (account_id) WHERE auto_compound AND remaining > 0
    """)
