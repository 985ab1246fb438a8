"""Agents: children that agents spawn, and forks that count with them."""

from alembic import op

revision = "2026113078"
down_revision = "2026113060"


def upgrade() -> None:
    op.execute("""
        -- Agents that agents made. A child has a parent, a purse and an end; a fork has none of them and counts under the root alone.
        CREATE TABLE agents_spawn (
          did text PRIMARY KEY CHECK (length(did) <= 512),
          parent_did text CHECK (length(parent_did) <= 512),
          root_did text NOT NULL CHECK (length(root_did) <= 512),
          depth smallint NOT NULL CHECK (depth BETWEEN 0 AND 3),
          funding bigint CHECK (funding > 0),
          spawned_at timestamptz NOT NULL DEFAULT clock_timestamp(),
          expires_at timestamptz CHECK (expires_at > spawned_at),
          -- Beginning of the end, its cause, and the time of the next attempt to finish it.
          ending_at timestamptz,
          cause text CHECK (cause IN ('ttl', 'owner', 'parent')),
          next_at timestamptz,
          ended_at timestamptz,
          -- Units that came back to the parent, without the fee.
          swept bigint CHECK (swept >= 0),
          CHECK ((parent_did IS NULL) = (depth = 0)),
          CHECK ((parent_did IS NULL) = (funding IS NULL)),
          CHECK ((parent_did IS NULL) = (expires_at IS NULL)),
          CHECK ((ending_at IS NULL) = (cause IS NULL)),
          CHECK (ending_at IS NULL OR parent_did IS NOT NULL),
          CHECK (swept IS NULL OR ended_at IS NOT NULL)
        )
    """)
    op.execute("CREATE INDEX agents_spawn_living ON agents_spawn (root_did) WHERE ended_at IS NULL")
    op.execute("CREATE INDEX agents_spawn_of_root ON agents_spawn (root_did, spawned_at)")
    op.execute("CREATE INDEX agents_spawn_children ON agents_spawn (parent_did, spawned_at, did)")
    op.execute("""
        CREATE INDEX agents_spawn_due ON agents_spawn (next_at, did) WHERE ended_at IS NULL AND parent_did IS NOT NULL
    """)
