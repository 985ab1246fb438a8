"""Commerce: slashes that could not be applied again after a restore, since nothing is left to be destroyed."""

from alembic import op

revision = "0219"
down_revision = "0218"

SQL = """
-- Since when the registry of the defendant cannot destroy again what was compensated; shown at both registries.
ALTER TABLE commerce_settlement ADD COLUMN uncollected_since timestamptz;
-- Why an administrator ended the claim: nothing more is asked.
ALTER TABLE commerce_settlement ADD COLUMN written_off_reason text CHECK (length(written_off_reason) <= 500);
ALTER TABLE commerce_settlement ADD CONSTRAINT commerce_settlement_written_off
  CHECK (written_off_reason IS NULL OR direction = 'outgoing' AND is_closed AND next_at IS NULL AND uncollected_since IS NOT NULL);
"""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(SQL)
