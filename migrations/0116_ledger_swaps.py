"""Ledger: crossings in two units, and the accounts with the reserves of pools."""

from alembic import op

revision = "0116"
down_revision = "0111"

SQL = """
DO $$
DECLARE
  name text;
BEGIN
  FOR name IN SELECT conname FROM pg_constraint WHERE conrelid = 'ledger_crossing'::regclass AND contype = 'c'
    AND position('direction' IN pg_get_constraintdef(oid)) > 0
  LOOP
    EXECUTE 'ALTER TABLE ledger_crossing DROP CONSTRAINT ' || quote_ident(name);
  END LOOP;
END $$;

-- `swap_out` moves when it is reserved, committed (to the leg of the pool) and aborted, `swap_in` when it is committed.
ALTER TABLE ledger_crossing
  ADD CONSTRAINT ledger_crossing_direction CHECK (direction IN ('out', 'in', 'swap_out', 'swap_in')) NOT VALID,
  ADD CONSTRAINT ledger_crossing_fee CHECK (fee >= 0 AND fee < amount AND (direction = 'in' OR fee = 0)) NOT VALID,
  ADD CONSTRAINT ledger_crossing_tx CHECK (
    (tx_id IS NOT NULL) = (direction IN ('out', 'swap_out') OR state = 'committed')) NOT VALID,
  ADD CONSTRAINT ledger_crossing_return_tx CHECK ((return_tx_id IS NOT NULL) =
    (direction = 'out' AND state = 'aborted' OR direction = 'swap_out' AND state <> 'reserved')) NOT VALID,
  ADD CONSTRAINT ledger_crossing_confirmed CHECK (
    confirmed_at IS NULL OR direction = 'out' AND state = 'committed') NOT VALID;

ALTER TABLE ledger_transaction
  DROP CONSTRAINT ledger_transaction_tx_type,
  ADD CONSTRAINT ledger_transaction_tx_type CHECK (tx_type IN ('issue', 'destroy', 'grant', 'transfer', 'stake',
    'unstake', 'reward', 'hold', 'capture', 'release', 'expire', 'out', 'in', 'return', 'swap', 'pool')) NOT VALID;
-- The last guard: the output of a swap enters its leg once, and a reserve is funded or drained once under each reference.
CREATE UNIQUE INDEX ledger_transaction_swap ON ledger_transaction (tx_type, payer_id, ref)
  WHERE tx_type IN ('swap', 'pool') AND ref IS NOT NULL;
"""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(SQL)
