"""Plumbing: settings that governance has changed."""

from alembic import op

revision = "2026113085"
down_revision = "2026113072"


def upgrade() -> None:
    op.execute("""
        -- A change of a setting. Values are JSON, decimals as strings; a null `new` is the value of the environment again.
        CREATE TABLE plumbing_parameter (
          id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
          name text NOT NULL CHECK (name ~ '^[a-z][a-z0-9_]{1,79}$'),
          old jsonb NOT NULL CHECK (jsonb_typeof(old) IN ('string', 'number', 'boolean')),
          new jsonb CHECK (jsonb_typeof(new) IN ('string', 'number', 'boolean')),
          effective_at timestamptz NOT NULL,
          by text NOT NULL CHECK (length(by) BETWEEN 1 AND 100),
          scheduled_at timestamptz NOT NULL DEFAULT now(),
          withdrawn_at timestamptz,
          CHECK (effective_at > scheduled_at),
          CHECK (withdrawn_at < effective_at),
          UNIQUE (by, name)
        )
    """)
    op.execute("CREATE INDEX plumbing_parameter_name ON plumbing_parameter (name, effective_at, id)")
