"""Auditor: the logs of peers, which are cosigned, and forks of logs with both copies."""

from alembic import op

revision = "0125"
down_revision = "0124"

SQL = """
-- The keys of each peer's log and of its witness, read over mutual TLS, in the text form of verifier keys.
CREATE TABLE auditor_peer_log (
  ledger_id text PRIMARY KEY,
  log_keys text[] NOT NULL,
  witness_key text,
  read_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- Two checkpoints with the signature of one log, of which neither continues the other. Evidence is never changed.
CREATE TABLE auditor_log_fork (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  origin text NOT NULL CHECK (length(origin) BETWEEN 1 AND 255),
  kind text NOT NULL CHECK (kind IN ('same_size', 'not_consistent')),
  own_note text NOT NULL,
  other_note text NOT NULL,
  -- Which registry was shown the other one.
  other_witness text NOT NULL,
  found_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  CHECK (own_note <> other_note)
);
CREATE UNIQUE INDEX auditor_log_fork_once ON auditor_log_fork (origin, md5(own_note), md5(other_note));
"""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(SQL)
