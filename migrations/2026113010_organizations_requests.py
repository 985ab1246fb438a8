"""Requests of organizations: tiers of approvals, delays, results and crossings."""

from alembic import op

revision = "2026113010"
down_revision = "2026113009"


def upgrade() -> None:
    op.execute("""
        -- Approvals that a payment of more than `above` needs, of members with this role or of a team.
        CREATE TABLE organizations_tier (
          organization_id uuid NOT NULL REFERENCES organizations_organization,
          above bigint NOT NULL CHECK (above >= 0),
          approvals smallint NOT NULL CHECK (approvals BETWEEN 1 AND 5),
          role smallint CHECK (role IN (3, 4)),
          team_id uuid REFERENCES organizations_team,
          PRIMARY KEY (organization_id, above),
          CHECK ((role IS NULL) <> (team_id IS NULL))
        )
    """)
    op.execute("CREATE INDEX organizations_tier_team ON organizations_tier (team_id)")
    op.execute("""
        ALTER TABLE organizations_request
          ADD COLUMN amount bigint CHECK (amount > 0),
          ADD COLUMN note text CHECK (length(note) <= 2000),
          -- Approvals that the rules demanded when the request was made: [{approvals, approvers}].
          ADD COLUMN demands jsonb NOT NULL DEFAULT '[]',
          ADD COLUMN approvals_needed smallint NOT NULL DEFAULT 0,
          ADD COLUMN executes_at timestamptz,
          ADD COLUMN tx_id bigint,
          ADD COLUMN transfer_id uuid,
          ADD COLUMN contract_id bigint,
          DROP CONSTRAINT organizations_request_status_check,
          ADD CONSTRAINT organizations_request_status_check
            CHECK (status IN ('PENDING', 'EXECUTING', 'EXECUTED', 'FAILED', 'REJECTED', 'CANCELLED', 'EXPIRED')),
          DROP CONSTRAINT organizations_request_check,
          ADD CONSTRAINT organizations_request_check
            CHECK ((ended_at IS NULL) = (status IN ('PENDING', 'EXECUTING')))
    """)
    op.execute("""
        CREATE INDEX organizations_request_delayed ON organizations_request (executes_at)
        WHERE status = 'PENDING' AND executes_at IS NOT NULL
    """)
