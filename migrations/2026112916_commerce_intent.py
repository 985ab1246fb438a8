"""Commerce: intents, previewed payments that are made once."""

from alembic import op

revision = "2026112916"
down_revision = "2026112914"


def upgrade() -> None:
    op.execute("""
    CREATE TABLE commerce_intent (
      id text PRIMARY KEY CHECK (id ~ '^int_[0-9a-f]{32}$'),
      principal text NOT NULL,
      agent_did text NOT NULL,
      tool text NOT NULL,
      arguments bytea NOT NULL,
      most bigint NOT NULL CHECK (most >= 0),
      created_at timestamptz NOT NULL DEFAULT now(),
      expires_at timestamptz NOT NULL,
      approval_id uuid,
      payment text UNIQUE,
      paid_at timestamptz,
      CHECK ((payment IS NULL) = (paid_at IS NULL))
    )
    """)
    # The open intents of one principal are counted when one is added.
    op.execute(
        "CREATE INDEX commerce_intent_open ON commerce_intent (principal, expires_at) WHERE payment IS NULL"
    )
    op.execute("CREATE INDEX commerce_intent_expires_at ON commerce_intent (expires_at)")
