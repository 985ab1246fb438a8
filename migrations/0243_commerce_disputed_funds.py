"""Commerce: units paid and held for the payment of a dispute, as of its filing."""

from alembic import op

revision = "0243"
down_revision = "0242"

SQL = """
-- `subject_amount` is what the parties agreed; a ruling compensates at most what was paid or is held.
ALTER TABLE commerce_dispute ADD COLUMN paid_amount bigint CHECK (paid_amount >= 0),
  ADD COLUMN held_amount bigint CHECK (held_amount >= 0);

UPDATE commerce_dispute d SET paid_amount = c.amount_paid,
  held_amount = CASE WHEN c.hold_id IS NOT NULL AND (d.contract_status IN ('ACCEPTED', 'SUBMITTED') OR c.hold_release_at IS NOT NULL)
    THEN c.amount - c.amount_paid ELSE 0 END
FROM commerce_contract c WHERE c.id = d.contract_id;

UPDATE commerce_dispute SET paid_amount = CASE WHEN tx_id IS NULL THEN 0 ELSE subject_amount END, held_amount = 0
WHERE contract_id IS NULL AND payment IS NOT NULL;
"""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(SQL)
