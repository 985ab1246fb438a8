"""Federation: what peers state about their trust in this registry."""

from alembic import op

revision = "0124"
down_revision = "0123"

SQL = """
-- The last statement of each peer about this registry, read over mutual TLS.
CREATE TABLE federation_own_trust (
  peer_id bigint PRIMARY KEY REFERENCES federation_peer ON DELETE CASCADE,
  mode text NOT NULL CHECK (mode IN ('off', 'observe', 'enforce')),
  state text NOT NULL CHECK (state IN ('unmeasured', 'ok', 'warn', 'restricted', 'suspended')),
  score double precision NOT NULL CHECK (score BETWEEN 0 AND 1),
  interactions bigint NOT NULL CHECK (interactions >= 0),
  reason text NOT NULL CHECK (length(reason) <= 500),
  read_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
"""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(SQL)
