"""Commerce: deposit of a complainant, and units that an open dispute blocks."""

from alembic import op

revision = "0250"
down_revision = "0249"

SQL = """
ALTER TABLE commerce_dispute
  -- Units of a bond that the open dispute keeps; zero where it blocks neither a bond nor the end of a party.
  ADD COLUMN blocked_amount bigint NOT NULL DEFAULT 0 CHECK (blocked_amount >= 0),
  ADD COLUMN deposit_amount bigint NOT NULL DEFAULT 0 CHECK (deposit_amount >= 0),
  ADD COLUMN deposit_hold_id bigint CHECK ((deposit_hold_id IS NULL) = (deposit_amount = 0));

-- Disputes that are open keep what they block, from one unit on.
UPDATE commerce_dispute SET blocked_amount = least(subject_amount, coalesce(claimed_amount, subject_amount))
WHERE payment IS NOT NULL AND least(subject_amount, coalesce(claimed_amount, subject_amount)) >= 10 ^ 8;
"""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(SQL)
