"""Federation: the next licence-signing key waits for the certificate that the genesis issues to it."""

from alembic import op

revision = "0131"
down_revision = "0130"

SQL = """
ALTER TABLE federation_licensing_key ADD COLUMN is_next boolean NOT NULL DEFAULT false,
  ADD CHECK (NOT is_next OR retired_at IS NULL);
DROP INDEX federation_licensing_key_present;
CREATE UNIQUE INDEX federation_licensing_key_present ON federation_licensing_key ((true))
  WHERE retired_at IS NULL AND NOT is_next;
CREATE UNIQUE INDEX federation_licensing_key_next ON federation_licensing_key ((true)) WHERE is_next;
"""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(SQL)
