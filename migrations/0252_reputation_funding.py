"""Ledger: what administrators granted from the treasury. Reputation: what owners can pay for with other units than genesis grants."""

from alembic import op

revision = "0252"
down_revision = "0251"

SQL = """
-- One row for each grant of an administrator, in the order of their commits: each is written under the lock of the treasury.
CREATE TABLE ledger_treasury_grant (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  payee text NOT NULL,
  amount bigint NOT NULL CHECK (amount > 0)
);
INSERT INTO ledger_treasury_grant (payee, amount)
SELECT payee.did, t.amount FROM ledger_account treasury
JOIN ledger_transaction t ON t.payer_id = treasury.id AND t.tx_type = 'grant' AND t.ref IS DISTINCT FROM 'genesis_grant'
JOIN ledger_account payee ON payee.id = t.payee_id
WHERE treasury.kind = 'system' AND treasury.did ~ '^did:.*:system:treasury$' ORDER BY t.id;

-- Units of a developer's agents that were earned by jobs that count or granted by an administrator, less what paid for jobs that count.
CREATE TABLE reputation_funds (
  developer_id bigint PRIMARY KEY,
  available numeric(38) NOT NULL DEFAULT 0 CHECK (available >= 0)
);
-- The last grant of an administrator that is in the funds.
ALTER TABLE reputation_progress ADD COLUMN granted bigint NOT NULL DEFAULT 0;
"""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(SQL)
