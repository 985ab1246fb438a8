"""Work orders of organizations, and bids on them."""

from alembic import op

revision = "2026113020"
down_revision = "2026113012"


def upgrade() -> None:
    op.execute("""
        -- Work that an organization offers. While it is open, its hold has the amount and the fee.
        CREATE TABLE treasury_work_order (
          id uuid PRIMARY KEY,
          -- Order of the board.
          seq bigint GENERATED ALWAYS AS IDENTITY UNIQUE,
          organization_id uuid NOT NULL,
          treasury_did text NOT NULL CHECK (length(treasury_did) <= 512),
          opened_by bigint NOT NULL,
          title text NOT NULL CHECK (length(title) BETWEEN 1 AND 200),
          spec text NOT NULL CHECK (length(spec) BETWEEN 1 AND 20000),
          acceptance_criteria text NOT NULL CHECK (length(acceptance_criteria) BETWEEN 1 AND 20000),
          amount bigint NOT NULL CHECK (amount > 0),
          -- [{title, amount}], in minor units; the amounts sum to that of the order.
          milestones jsonb NOT NULL DEFAULT '[]',
          skills text[] NOT NULL DEFAULT '{}' CHECK (cardinality(skills) <= 20),
          -- In lower case, for the search.
          skill_keys text[] NOT NULL DEFAULT '{}',
          words tsvector NOT NULL,
          bids_until timestamptz NOT NULL,
          expires_at timestamptz NOT NULL,
          submit_days smallint NOT NULL CHECK (submit_days > 0),
          review_days smallint NOT NULL CHECK (review_days > 0),
          auto_approve boolean NOT NULL,
          status text NOT NULL DEFAULT 'OPEN' CHECK (status IN ('OPEN', 'AWARDED', 'CANCELLED', 'EXPIRED')),
          -- The organization is suspended.
          is_hidden boolean NOT NULL DEFAULT false,
          -- Bids that were not withdrawn.
          bid_count smallint NOT NULL DEFAULT 0 CHECK (bid_count BETWEEN 0 AND 200),
          hold_id bigint NOT NULL UNIQUE,
          contract_id bigint UNIQUE,
          created_at timestamptz NOT NULL DEFAULT now(),
          ended_at timestamptz,
          UNIQUE (id, amount),
          CHECK (expires_at > bids_until),
          CHECK ((contract_id IS NOT NULL) = (status = 'AWARDED')),
          CHECK ((ended_at IS NULL) = (status = 'OPEN'))
        ) WITH (fillfactor = 90)
    """)
    op.execute("""
        CREATE INDEX treasury_work_order_open ON treasury_work_order (organization_id) WHERE status = 'OPEN'
    """)
    op.execute("CREATE INDEX treasury_work_order_of ON treasury_work_order (treasury_did)")
    op.execute("CREATE INDEX treasury_work_order_board ON treasury_work_order (seq DESC) WHERE NOT is_hidden")
    op.execute("""
        CREATE INDEX treasury_work_order_status ON treasury_work_order (status, seq DESC) WHERE NOT is_hidden
    """)
    op.execute("CREATE INDEX treasury_work_order_words ON treasury_work_order USING gin (words)")
    op.execute("CREATE INDEX treasury_work_order_skills ON treasury_work_order USING gin (skill_keys)")
    op.execute("""
        -- Bids. `amount` is that of the work order, which bounds the price.
        CREATE TABLE treasury_work_bid (
          id uuid PRIMARY KEY,
          work_order_id uuid NOT NULL,
          amount bigint NOT NULL,
          provider_did text NOT NULL CHECK (length(provider_did) <= 512),
          price bigint NOT NULL,
          eta_seconds integer NOT NULL CHECK (eta_seconds > 0),
          pitch text NOT NULL DEFAULT '' CHECK (length(pitch) <= 2000),
          status text NOT NULL DEFAULT 'live' CHECK (status IN ('live', 'withdrawn', 'won', 'lost')),
          created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
          ended_at timestamptz,
          FOREIGN KEY (work_order_id, amount) REFERENCES treasury_work_order (id, amount),
          CHECK (price BETWEEN 1 AND amount),
          CHECK ((ended_at IS NULL) = (status = 'live'))
        )
    """)
    op.execute("""
        CREATE UNIQUE INDEX treasury_work_bid_live ON treasury_work_bid (work_order_id, provider_did)
        WHERE status = 'live'
    """)
    op.execute("""
        CREATE UNIQUE INDEX treasury_work_bid_won ON treasury_work_bid (work_order_id) WHERE status = 'won'
    """)
    op.execute("CREATE INDEX treasury_work_bid_of ON treasury_work_bid (work_order_id, created_at, id)")
    op.execute("""
        CREATE INDEX treasury_work_bid_provider ON treasury_work_bid (provider_did) WHERE status = 'live'
    """)
