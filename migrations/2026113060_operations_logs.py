"""Operations: logs of agents."""

from alembic import op

revision = "2026113060"
down_revision = "2026113032"


def upgrade() -> None:
    op.execute("""
        -- Log of one agent. `position` is that of its newest entry; `in_minute` counts the entries that were sent in `minute`.
        CREATE TABLE operations_log (
          agent_did text PRIMARY KEY CHECK (length(agent_did) <= 512),
          position bigint NOT NULL CHECK (position >= 0),
          entries bigint NOT NULL CHECK (entries >= 0),
          bytes bigint NOT NULL CHECK (bytes >= 0),
          minute timestamptz NOT NULL,
          in_minute integer NOT NULL CHECK (in_minute BETWEEN 0 AND 600),
          written_at timestamptz NOT NULL
        )
    """)
    op.execute("""
        CREATE INDEX operations_log_too_large ON operations_log (agent_did)
        WHERE entries > 10000 OR bytes > 20971520
    """)
    op.execute("""
        -- One partition for each day (UTC), made ahead by a job and dropped whole; entries of a day without one are in the default partition.
        CREATE TABLE operations_log_entry (
          agent_did text NOT NULL,
          position bigint NOT NULL,
          id uuid NOT NULL DEFAULT gen_random_uuid(),
          level text NOT NULL CHECK (level IN ('DEBUG', 'INFO', 'WARN', 'ERROR')),
          message text NOT NULL CHECK (length(message) <= 4000),
          log_metadata json,
          trace_id text CHECK (trace_id ~ '^[0-9a-f]{32}$'),
          source text NOT NULL CHECK (source IN ('agent', 'registry')),
          bytes integer NOT NULL CHECK (bytes >= 0),
          written_at timestamptz NOT NULL,
          PRIMARY KEY (agent_did, position, written_at)
        ) PARTITION BY RANGE (written_at)
    """)
    op.execute("CREATE TABLE operations_log_entry_default PARTITION OF operations_log_entry DEFAULT")
