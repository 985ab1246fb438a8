"""Commerce: units that a ruling issues beyond those that it destroyed wait for a second administrator."""

from alembic import op

revision = "0245"
down_revision = "0244"

SQL = """
ALTER TABLE commerce_dispute
  ADD COLUMN award_amount bigint NOT NULL DEFAULT 0 CHECK (award_amount BETWEEN 0 AND compensation_amount),
  ADD COLUMN award_status text CHECK (award_status IN ('PENDING', 'APPROVED', 'REJECTED')),
  ADD COLUMN award_decided_by bigint CHECK (award_decided_by <> ruled_by),
  ADD COLUMN award_decided_at timestamptz,
  ADD COLUMN award_reason text CHECK (length(award_reason) BETWEEN 1 AND 500),
  ADD CHECK ((award_status IS NULL) = (award_amount = 0)),
  ADD CHECK (coalesce(award_status IN ('APPROVED', 'REJECTED'), false) = (award_decided_by IS NOT NULL)
    AND (award_decided_by IS NULL) = (award_decided_at IS NULL));
CREATE INDEX commerce_dispute_award ON commerce_dispute (award_status, id) WHERE award_status IS NOT NULL;
"""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(SQL)
