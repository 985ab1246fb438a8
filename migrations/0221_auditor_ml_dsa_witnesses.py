"""Auditor: witnesses have an ML-DSA-44 key besides the Ed25519 one."""

from alembic import op

revision = "0221"
down_revision = "0220"

SQL = """
ALTER TABLE auditor_witness_key DROP CONSTRAINT auditor_witness_key_public_key_check,
  ADD CONSTRAINT auditor_witness_key_public_key_check CHECK (octet_length(public_key) IN (32, 1312));
-- The length names the kind: Ed25519, or ML-DSA-44. One key of each is current.
DROP INDEX auditor_witness_key_current;
CREATE UNIQUE INDEX auditor_witness_key_current ON auditor_witness_key (octet_length(public_key)) WHERE retired_at IS NULL;

ALTER TABLE auditor_peer_log ADD COLUMN witness_keys text[] NOT NULL DEFAULT '{}';
UPDATE auditor_peer_log SET witness_keys = ARRAY[witness_key] WHERE witness_key IS NOT NULL;
ALTER TABLE auditor_peer_log DROP COLUMN witness_key, ALTER COLUMN witness_keys DROP DEFAULT;

-- A line by each key of the witness that cosigned.
ALTER TABLE auditor_log_witness ADD COLUMN lines text[] NOT NULL DEFAULT '{}';
UPDATE auditor_log_witness SET lines = ARRAY[line] WHERE line IS NOT NULL;
ALTER TABLE auditor_log_witness DROP COLUMN line,
  ADD CHECK ((size IS NULL) = (lines = '{}') AND (size IS NULL) = (cosigned_at IS NULL));
"""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(SQL)
