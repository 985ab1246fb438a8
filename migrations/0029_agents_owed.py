"""Agents: a genesis grant that the treasury still owes, and the request that asked for a spend approval."""

from alembic import op

revision = "0029"
down_revision = "0028"

SQL = """
-- What the treasury owes the agent because it could not pay when the agent was created; null: nothing.
ALTER TABLE agents_genesis_grant ADD COLUMN owed bigint CHECK (owed > 0);
CREATE INDEX agents_genesis_grant_owed ON agents_genesis_grant (claimed_at, developer_id) WHERE owed IS NOT NULL;

-- SHA-256 of caller, route and Idempotency-Key of the payment that asked: repeated, it finds the same approval.
ALTER TABLE agents_spend_approval ADD COLUMN request_scope bytea CHECK (octet_length(request_scope) = 32);
CREATE INDEX agents_spend_approval_of_request ON agents_spend_approval (agent_id, request_scope)
  WHERE request_scope IS NOT NULL AND used_at IS NULL;
"""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(SQL)
