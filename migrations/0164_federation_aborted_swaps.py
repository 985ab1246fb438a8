"""Federation: swaps that a peer aborts are evidence on it."""

from alembic import op

revision = "0164"
down_revision = "0163"

SQL = """
ALTER TABLE federation_peer_signal DROP CONSTRAINT federation_peer_signal_kind_check;
ALTER TABLE federation_peer_signal ADD CONSTRAINT federation_peer_signal_kind_check
  CHECK (kind IN ('crossing', 'dispute_lost', 'card_refused', 'unanswered', 'swap_aborted'));
DROP INDEX federation_peer_signal_of_hour;
CREATE UNIQUE INDEX federation_peer_signal_of_hour ON federation_peer_signal
  (peer_id, kind, date_trunc('hour', at AT TIME ZONE 'UTC')) WHERE kind IN ('card_refused', 'unanswered', 'swap_aborted');
"""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(SQL)
