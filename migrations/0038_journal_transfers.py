"""Journal: one row for the events of a transfer."""

from alembic import op

revision = "0038"
down_revision = "0037"

SQL = """
-- What the events of transfers have in common. Final.
CREATE TABLE journal_transfer_terms (
  id smallint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  frame text NOT NULL,
  currency text NOT NULL,
  collector text NOT NULL,
  UNIQUE (frame, currency, collector)
);

-- A row without `data` is a LedgerBalanceChanged and, as far as `admitted` says so, the TokensTransferred (2) and the
-- TransactionFeeCollected (4) of the same transaction, with the sequence numbers that follow. Amounts are minor units;
-- `freed` is what a capture gives back to its payer.
ALTER TABLE journal_event
  ALTER COLUMN data DROP NOT NULL,
  ADD COLUMN terms smallint,
  ADD COLUMN admitted smallint,
  ADD COLUMN tx_id bigint,
  ADD COLUMN tx_type text,
  ADD COLUMN payee text,
  ADD COLUMN amount bigint,
  ADD COLUMN fee bigint,
  ADD COLUMN freed bigint,
  ADD COLUMN payer_after bigint,
  ADD COLUMN payee_after bigint,
  ADD COLUMN freed_after bigint,
  ADD COLUMN collector_after bigint,
  ADD COLUMN message text,
  ADD CONSTRAINT journal_event_form CHECK (CASE WHEN data IS NULL
    THEN event_type = 'LedgerBalanceChanged' AND admitted & 1 = 1 AND terms IS NOT NULL
      AND num_nulls(tx_id, tx_type, payee, amount, fee, payer_after, payee_after) = 0
      AND (fee > 0) = (collector_after IS NOT NULL) AND (freed IS NULL) = (freed_after IS NULL)
    ELSE admitted IS NULL AND tx_id IS NULL END) NOT VALID;
"""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(SQL)
