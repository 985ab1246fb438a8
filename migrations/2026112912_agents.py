"""Agents: payments counted under grants of connected clients, and approvals of one grant and request."""

from alembic import op

revision = "2026112912"
down_revision = "2026112911"


def upgrade() -> None:
    op.execute("""
    -- Payments under a grant on a day (UTC), without fees. The grant is a row of the people room.
    CREATE TABLE agents_grant_spending (
      grant_id uuid NOT NULL,
      day date NOT NULL,
      spent numeric(38, 0) NOT NULL CHECK (spent <> 'NaN' AND spent >= 0),
      PRIMARY KEY (grant_id, day)
    );
    CREATE INDEX agents_grant_spending_day ON agents_grant_spending (day);

    -- Without a grant the payment is the agent's own.
    ALTER TABLE agents_spend_approval ADD COLUMN grant_id uuid,
      ADD COLUMN client text CHECK (length(client) BETWEEN 1 AND 400),
      ADD COLUMN operation text CHECK (length(operation) <= 100),
      ADD CONSTRAINT agents_spend_approval_of_client
        CHECK ((grant_id IS NULL) = (client IS NULL) AND (grant_id IS NULL OR request_scope IS NOT NULL));
    DROP INDEX agents_spend_approval_pending;
    CREATE UNIQUE INDEX agents_spend_approval_pending ON agents_spend_approval (agent_id, payee, amount)
      WHERE status = 'pending' AND grant_id IS NULL;
    CREATE UNIQUE INDEX agents_spend_approval_pending_of_grant ON agents_spend_approval (grant_id, request_scope, payee, amount)
      WHERE status = 'pending' AND grant_id IS NOT NULL;
    """)
