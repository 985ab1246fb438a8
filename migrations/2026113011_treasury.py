"""Treasuries of organizations: limits, budgets, sums of a day, and what counts in them."""

from alembic import op

revision = "2026113011"
down_revision = "2026113010"


def upgrade() -> None:
    op.execute("""
        -- Limits of an organization beside its tiers; null: no limit.
        CREATE TABLE treasury_limits (
          organization_id uuid PRIMARY KEY,
          per_day_max bigint CHECK (per_day_max >= 0),
          unapproved_per_day_max bigint CHECK (unapproved_per_day_max >= 0),
          allowlist text[]
        )
    """)
    op.execute("""
        -- Amounts of one UTC day, without fees; `unapproved`: those that nobody approved and that no budget paid.
        CREATE TABLE treasury_day (
          organization_id uuid NOT NULL,
          day date NOT NULL,
          spent numeric(38, 0) NOT NULL DEFAULT 0 CHECK (spent >= 0),
          unapproved numeric(38, 0) NOT NULL DEFAULT 0 CHECK (unapproved BETWEEN 0 AND spent),
          PRIMARY KEY (organization_id, day)
        )
    """)
    op.execute("""
        -- A deleted one keeps its row. `period_start` is the month of `spent`, the creation for one that is used once.
        CREATE TABLE treasury_budget (
          id uuid PRIMARY KEY,
          organization_id uuid NOT NULL,
          name text NOT NULL CHECK (length(name) BETWEEN 1 AND 100),
          amount bigint NOT NULL CHECK (amount > 0),
          period text NOT NULL CHECK (period IN ('month', 'once')),
          team_id uuid,
          agent_did text CHECK (length(agent_did) <= 512),
          spent numeric(38, 0) NOT NULL DEFAULT 0 CHECK (spent >= 0),
          period_start date NOT NULL,
          created_at timestamptz NOT NULL DEFAULT now(),
          deleted_at timestamptz,
          CHECK ((team_id IS NULL) <> (agent_did IS NULL))
        )
    """)
    op.execute("""
        CREATE INDEX treasury_budget_of ON treasury_budget (organization_id, created_at, id) WHERE deleted_at IS NULL
    """)
    op.execute("""
        CREATE UNIQUE INDEX treasury_budget_agent ON treasury_budget (agent_did)
        WHERE deleted_at IS NULL AND agent_did IS NOT NULL
    """)
    op.execute("""
        -- What a request or a draw counts in the sums, once; returned: its units came back.
        CREATE TABLE treasury_outlay (
          id uuid PRIMARY KEY,
          organization_id uuid NOT NULL,
          day date NOT NULL,
          amount bigint NOT NULL CHECK (amount > 0),
          is_unapproved boolean NOT NULL,
          budget_id uuid REFERENCES treasury_budget,
          period_start date,
          returned_at timestamptz,
          CHECK ((budget_id IS NULL) = (period_start IS NULL)),
          CHECK (NOT is_unapproved OR budget_id IS NULL)
        )
    """)
