"""Commerce: which part of which contract each transfer to another registry pays."""

from alembic import op

revision = "0205"
down_revision = "0201"

SQL = """
-- Kept after an ABORT: a COMMIT that a restore let come to light is binding, and approves the part.
CREATE TABLE commerce_contract_transfer (
  transfer_id uuid PRIMARY KEY,
  contract_id bigint NOT NULL REFERENCES commerce_contract (id),
  milestone smallint
);
INSERT INTO commerce_contract_transfer (transfer_id, contract_id, milestone)
SELECT c.crossing, c.id,
  (SELECT min(m.index) FROM commerce_contract_milestone m WHERE m.contract_id = c.id AND m.state = 'submitted')
FROM commerce_contract c WHERE c.crossing IS NOT NULL;
"""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(SQL)
