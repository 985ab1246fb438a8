"""Transfers: receipts bear the place of their entry in the chain of the registry that credited."""

from alembic import op

revision = "0188"
down_revision = "0187"

SQL = """
-- Of transfers that enter: the entry of the receipt in the own chain. Null for those of before.
ALTER TABLE transfers_received
  ADD COLUMN entry_epoch bigint,
  ADD COLUMN entry_seq bigint,
  ADD CONSTRAINT transfers_received_entry CHECK ((entry_epoch IS NULL) = (entry_seq IS NULL));
-- What is still to be confirmed bears its place from now on.
UPDATE transfers_received r SET entry_epoch = e.epoch, entry_seq = e.seq FROM transfers_entry e
WHERE r.next_at IS NOT NULL AND e.peer = r.peer AND e.transfer_id = r.transfer_id AND e.entry = 'receipt';

-- Of transfers that leave: the place that the receipt bears, in the chain of the peer.
ALTER TABLE transfers_sent
  ADD COLUMN receipt_epoch bigint,
  ADD COLUMN receipt_seq bigint,
  ADD CONSTRAINT transfers_sent_receipt_place CHECK ((receipt_epoch IS NULL) = (receipt_seq IS NULL));
CREATE INDEX transfers_sent_confirmed ON transfers_sent (peer, receipt_epoch, receipt_seq) WHERE receipt_epoch IS NOT NULL;
"""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(SQL)
