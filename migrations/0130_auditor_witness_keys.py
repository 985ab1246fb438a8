"""Auditor: the key of the witness can be rotated."""

from alembic import op

revision = "0130"
down_revision = "0129"

SQL = """
ALTER TABLE auditor_witness_key DROP CONSTRAINT auditor_witness_key_pkey;
ALTER TABLE auditor_witness_key DROP COLUMN is_only,
  ADD PRIMARY KEY (public_key),
  ADD COLUMN valid_from timestamptz NOT NULL DEFAULT clock_timestamp(),
  ADD COLUMN retired_at timestamptz CHECK (retired_at >= valid_from),
  ALTER COLUMN sealed_key DROP NOT NULL,
  ADD CHECK (sealed_key IS NOT NULL OR retired_at IS NOT NULL);
CREATE UNIQUE INDEX auditor_witness_key_current ON auditor_witness_key ((true)) WHERE retired_at IS NULL;
"""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(SQL)
