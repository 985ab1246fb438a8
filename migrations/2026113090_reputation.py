"""Reputation: payments and lost disputes of each pair of agents and day, from which the views of an epoch are read."""

from alembic import op

revision = "2026113090"
down_revision = "2026113076"


def upgrade() -> None:
    op.execute("""
        CREATE TABLE reputation_flow (
          giver text NOT NULL,
          receiver text NOT NULL,
          day date NOT NULL,
          jobs bigint NOT NULL CHECK (jobs >= 0),
          volume numeric(38) NOT NULL CHECK (volume >= 0),
          counted_jobs bigint NOT NULL CHECK (counted_jobs BETWEEN 0 AND jobs),
          counted_fee numeric(38) NOT NULL CHECK (counted_fee >= 0),
          disputes_lost bigint NOT NULL CHECK (disputes_lost >= 0),
          PRIMARY KEY (receiver, day, giver)
        )
    """)
    op.execute("CREATE INDEX reputation_flow_given ON reputation_flow (giver, day)")
    op.execute("CREATE INDEX reputation_score_rank ON reputation_score (score)")
    op.execute("ALTER TABLE reputation_epoch ADD COLUMN has_flows boolean NOT NULL DEFAULT false")
