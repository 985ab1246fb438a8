"""Federation: certificates that an operator registry receives from its frame, and invitations that are for an operator."""

from alembic import op

revision = "0171"
down_revision = "0170"

SQL = """
-- The certificates of an operator registry, of `/registry/<name>` and `/operator/<name>`; none at a frame, which issues its own.
-- The requested key is that of a request under way: a repeat asks for a certificate of the same key.
CREATE TABLE federation_identity (
  kind text PRIMARY KEY CHECK (kind IN ('registry', 'operator')),
  certificate text,
  sealed_key bytea,
  begins_at timestamptz,
  expires_at timestamptz,
  sealed_requested_key bytea,
  CHECK ((certificate IS NULL) = (sealed_key IS NULL) AND (certificate IS NULL) = (begins_at IS NULL)
    AND (certificate IS NULL) = (expires_at IS NULL)),
  CHECK (certificate IS NOT NULL OR sealed_requested_key IS NOT NULL),
  CHECK (begins_at < expires_at)
);

-- The roots of the trust domain in PEM, as an operator registry has them from its frame; null at a frame.
ALTER TABLE federation_trust ADD COLUMN own_roots text;

-- The operator whose certificates are issued with the redemption; null: an invitation of another frame.
ALTER TABLE federation_invitation ADD COLUMN operator_name text
  CHECK (operator_name ~ '^[A-Za-z0-9._-]{1,120}$' AND operator_name NOT IN ('.', '..'));
"""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(SQL)
