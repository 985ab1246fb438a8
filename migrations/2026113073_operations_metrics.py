"""Operations: metrics of agents."""

from alembic import op

revision = "2026113073"
down_revision = "2026113079"


def upgrade() -> None:
    op.execute("""
        -- Figures of an agent in a minute, an hour (UTC), or, at the epoch, ever; amounts in minor units. Payments come from
        -- the journal, each once; requests and checks are counted by the processes.
        CREATE TABLE operations_metric (
          agent_did text NOT NULL CHECK (length(agent_did) <= 512),
          step text NOT NULL CHECK (step IN ('minute', 'hour', 'ever')),
          at timestamptz NOT NULL,
          paid_calls bigint NOT NULL CHECK (paid_calls >= 0),
          failed bigint NOT NULL CHECK (failed >= 0),
          earned numeric NOT NULL CHECK (earned >= 0),
          spent numeric NOT NULL CHECK (spent >= 0),
          fees numeric NOT NULL CHECK (fees >= 0),
          api_requests bigint NOT NULL CHECK (api_requests >= 0),
          api_errors bigint NOT NULL CHECK (api_errors BETWEEN 0 AND api_requests),
          checks bigint NOT NULL CHECK (checks >= 0),
          checks_alive bigint NOT NULL CHECK (checks_alive BETWEEN 0 AND checks),
          log_errors bigint NOT NULL CHECK (log_errors >= 0),
          PRIMARY KEY (agent_did, step, at)
        )
    """)
    op.execute("CREATE INDEX operations_metric_age ON operations_metric (step, at)")
    op.execute("""
        -- Payments of calls by the time from their authorization to their settlement: bucket n is around 2^(n/8) milliseconds.
        CREATE TABLE operations_settle_time (
          agent_did text NOT NULL CHECK (length(agent_did) <= 512),
          step text NOT NULL CHECK (step IN ('minute', 'hour', 'ever')),
          at timestamptz NOT NULL,
          bucket smallint NOT NULL CHECK (bucket >= 0),
          payments bigint NOT NULL CHECK (payments > 0),
          PRIMARY KEY (agent_did, step, at, bucket)
        )
    """)
    op.execute("CREATE INDEX operations_settle_time_age ON operations_settle_time (step, at)")
    op.execute("""
        -- Transaction before which all events are in the figures. A transaction that adds to them locks the row.
        CREATE TABLE operations_metric_counted (
          is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
          before_xid bigint NOT NULL DEFAULT 0
        )
    """)
    op.execute("INSERT INTO operations_metric_counted DEFAULT VALUES")
