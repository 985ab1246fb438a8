"""Federation: the licence that an operator registry holds of its frame, as the frame stated it last."""

from alembic import op

revision = "0176"
down_revision = "0175"

SQL = """
CREATE TABLE federation_held_operator_licence (
  is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
  certificate text NOT NULL CHECK (length(certificate) <= 16384),
  hash text NOT NULL,
  -- As this registry evaluates it; reason is empty while the licence is active.
  state text NOT NULL CHECK (state IN
    ('active', 'suspended', 'revoked', 'superseded', 'expired', 'unverified', 'untrusted_root', 'malformed')),
  reason text NOT NULL CHECK (length(reason) <= 1000),
  plan text NOT NULL,
  frame text NOT NULL,
  expires_at timestamptz,
  changed_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
"""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(SQL)
