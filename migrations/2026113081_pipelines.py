"""Pipelines: definitions, runs, steps and attempts."""

from alembic import op

revision = "2026113081"
down_revision = "2026113080"


def upgrade() -> None:
    op.execute("""
        -- Locked while pipelines and runs of an agent are counted. `runs` counts those that were started on `day` (UTC).
        CREATE TABLE pipelines_agent (
          agent_did text PRIMARY KEY CHECK (length(agent_did) <= 512),
          day date NOT NULL,
          runs integer NOT NULL CHECK (runs BETWEEN 0 AND 200)
        )
    """)
    op.execute("""
        CREATE TABLE pipelines_pipeline (
          id uuid PRIMARY KEY,
          agent_did text NOT NULL CHECK (length(agent_did) <= 512),
          revision integer NOT NULL DEFAULT 1 CHECK (revision > 0),
          created_at timestamptz NOT NULL DEFAULT now(),
          updated_at timestamptz NOT NULL DEFAULT now(),
          deleted_at timestamptz
        )
    """)
    op.execute("""
        CREATE INDEX pipelines_pipeline_of_agent ON pipelines_pipeline (agent_did, created_at DESC, id)
        WHERE deleted_at IS NULL
    """)
    op.execute("""
        CREATE TABLE pipelines_revision (
          pipeline_id uuid NOT NULL REFERENCES pipelines_pipeline,
          revision integer NOT NULL,
          definition json NOT NULL,
          created_at timestamptz NOT NULL DEFAULT now(),
          PRIMARY KEY (pipeline_id, revision)
        )
    """)
    op.execute("""
        -- The budget of a run has the id of the run. `leaving` is the status that it takes once no token is open.
        CREATE TABLE pipelines_run (
          id uuid PRIMARY KEY,
          pipeline_id uuid NOT NULL,
          revision integer NOT NULL,
          agent_did text NOT NULL,
          status text NOT NULL CHECK (status IN ('queued', 'running', 'waiting_approval', 'waiting_funds', 'succeeded', 'failed',
            'cancelled', 'expired', 'budget_exceeded')),
          leaving text CHECK (leaving IN ('waiting_funds', 'budget_exceeded', 'failed', 'cancelled', 'expired')),
          -- The grant that started it, and its person; all null for a run of the agent itself.
          grant_id uuid,
          client text,
          developer_id bigint,
          is_cancel_asked boolean NOT NULL DEFAULT false,
          input bytea,
          deadline_at timestamptz NOT NULL,
          created_at timestamptz NOT NULL DEFAULT now(),
          ended_at timestamptz,
          FOREIGN KEY (pipeline_id, revision) REFERENCES pipelines_revision,
          CHECK ((ended_at IS NOT NULL) = (status IN ('succeeded', 'failed', 'cancelled', 'expired', 'budget_exceeded'))),
          CHECK ((grant_id IS NULL) = (client IS NULL) AND (grant_id IS NULL) = (developer_id IS NULL))
        )
    """)
    op.execute("CREATE INDEX pipelines_run_of_pipeline ON pipelines_run (pipeline_id, created_at DESC, id)")
    op.execute("CREATE INDEX pipelines_run_live ON pipelines_run (agent_did) WHERE ended_at IS NULL")
    op.execute("""
        CREATE INDEX pipelines_run_of_grant ON pipelines_run (grant_id) WHERE ended_at IS NULL AND grant_id IS NOT NULL
    """)
    op.execute("CREATE INDEX pipelines_run_sealed ON pipelines_run (ended_at) WHERE input IS NOT NULL")
    op.execute("""
        CREATE TABLE pipelines_step (
          run_id uuid NOT NULL REFERENCES pipelines_run,
          step text NOT NULL,
          place integer NOT NULL,
          status text NOT NULL CHECK (status IN ('pending', 'running', 'waiting_approval', 'succeeded', 'failed', 'skipped',
            'unknown')),
          made integer NOT NULL CHECK (made >= 0),
          base integer NOT NULL CHECK (base BETWEEN 0 AND made),
          most integer NOT NULL,
          is_open boolean NOT NULL,
          is_short boolean NOT NULL,
          is_paid boolean NOT NULL,
          is_approved boolean NOT NULL,
          approval_id uuid,
          reason text,
          PRIMARY KEY (run_id, step)
        )
    """)
    op.execute("""
        -- An attempt without a token was refused. The commit that authorizes a token writes its attempt.
        CREATE TABLE pipelines_attempt (
          id uuid PRIMARY KEY,
          run_id uuid NOT NULL,
          step text NOT NULL,
          n integer NOT NULL CHECK (n > 0),
          payee text NOT NULL,
          token_id uuid UNIQUE,
          amount bigint CHECK (amount > 0),
          reason text,
          is_answered boolean NOT NULL DEFAULT false,
          output bytea,
          at timestamptz NOT NULL DEFAULT clock_timestamp(),
          UNIQUE (run_id, step, n),
          FOREIGN KEY (run_id, step) REFERENCES pipelines_step,
          CHECK ((token_id IS NULL) = (amount IS NULL)),
          CHECK (token_id IS NOT NULL OR (reason IS NOT NULL AND NOT is_answered)),
          CHECK (is_answered OR output IS NULL)
        )
    """)
