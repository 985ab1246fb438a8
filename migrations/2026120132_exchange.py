"""Exchange: listings, subscriptions of their launches, holdings of points, and the postings of points."""

from alembic import op

revision = "2026120132"
down_revision = "2026120131"


def upgrade() -> None:
    op.execute("""
        -- Points that an organization sells: rights to `revenue_bps` / `total` of its revenue for `term_months`. Prices are in minor
        -- units, quantities whole points. A reference is used once for ever.
        CREATE TABLE exchange_listing (
          ref text PRIMARY KEY CHECK (ref ~ '^[A-Z0-9]{2,8}$'),
          organization_id uuid NOT NULL,
          treasury_did text NOT NULL CHECK (length(treasury_did) <= 512),
          status text NOT NULL DEFAULT 'DRAFT' CHECK (status IN ('DRAFT', 'REVIEW', 'APPROVED', 'LAUNCHING', 'TRADING', 'HALTED',
            'EXPIRED', 'DELISTED', 'FAILED')),
          total bigint NOT NULL CHECK (total BETWEEN 1 AND 10000000000),
          price bigint NOT NULL CHECK (price > 0),
          min_raise bigint NOT NULL CHECK (min_raise >= 0),
          opens_at timestamptz NOT NULL,
          closes_at timestamptz NOT NULL,
          per_owner_max bigint NOT NULL CHECK (per_owner_max >= 1),
          revenue_bps smallint NOT NULL CHECK (revenue_bps BETWEEN 1 AND 5000),
          term_months smallint NOT NULL CHECK (term_months BETWEEN 6 AND 120),
          tick bigint NOT NULL CHECK (tick > 0),
          prospectus_url text NOT NULL CHECK (length(prospectus_url) BETWEEN 1 AND 2048),
          prospectus_sha256 bytea NOT NULL CHECK (octet_length(prospectus_sha256) = 32),
          -- Fixed by the approval: the fee of sellers, and the SHA-256 of the terms.
          fee_bps smallint CHECK (fee_bps BETWEEN 0 AND 200),
          digest bytea CHECK (octet_length(digest) = 32),
          approved_at timestamptz,
          -- Last number that was drawn under the lock of this row: of a subscription, an order, a trade or a movement of points.
          seq bigint NOT NULL DEFAULT 0 CHECK (seq >= 0),
          -- Points that were sold by the launch, and those of them that holders gave up.
          sold bigint NOT NULL DEFAULT 0 CHECK (sold BETWEEN 0 AND total),
          given_up bigint NOT NULL DEFAULT 0 CHECK (given_up BETWEEN 0 AND sold),
          -- The allocation of the launch was fixed.
          launched_at timestamptz,
          ends_at timestamptz,
          last_price bigint CHECK (last_price > 0),
          arrears bigint NOT NULL DEFAULT 0 CHECK (arrears >= 0),
          -- Administrator who decided last, and why.
          decided_by text CHECK (length(decided_by) <= 64),
          reason text CHECK (length(reason) BETWEEN 1 AND 2000),
          created_at timestamptz NOT NULL DEFAULT now(),
          ended_at timestamptz,
          CHECK (total::numeric * price <= 1000000000000000000),
          CHECK (min_raise <= total::numeric * price),
          CHECK (price % tick = 0),
          CHECK (per_owner_max <= total),
          CHECK (closes_at > opens_at),
          CHECK (num_nulls(fee_bps, digest, approved_at) = CASE WHEN status IN ('DRAFT', 'REVIEW') THEN 3 ELSE 0 END),
          CHECK (launched_at IS NULL OR status IN ('LAUNCHING', 'TRADING', 'HALTED', 'EXPIRED', 'DELISTED', 'FAILED')),
          CHECK (num_nulls(ends_at, last_price) = CASE WHEN sold > 0 THEN 0 ELSE 2 END),
          CHECK (sold = 0 OR launched_at IS NOT NULL AND ends_at > launched_at),
          CHECK (sold > 0 OR status NOT IN ('TRADING', 'HALTED', 'EXPIRED')),
          CHECK (sold = 0 OR status <> 'FAILED'),
          CHECK ((ended_at IS NOT NULL) = (status IN ('EXPIRED', 'DELISTED', 'FAILED')))
        ) WITH (fillfactor = 50)
    """)
    op.execute("""
        CREATE UNIQUE INDEX exchange_listing_live ON exchange_listing (organization_id)
        WHERE status NOT IN ('EXPIRED', 'DELISTED', 'FAILED')
    """)
    op.execute("CREATE INDEX exchange_listing_status ON exchange_listing (status, ref)")
    op.execute("""
        -- Points of an agent. `locked` are those that its open sells offer; `cost` is what it paid for the points, in minor units.
        CREATE TABLE exchange_holding (
          ref text NOT NULL REFERENCES exchange_listing,
          agent_did text NOT NULL CHECK (length(agent_did) <= 512),
          qty bigint NOT NULL CHECK (qty >= 0),
          locked bigint NOT NULL DEFAULT 0,
          cost bigint NOT NULL DEFAULT 0 CHECK (cost >= 0),
          PRIMARY KEY (ref, agent_did),
          CHECK (locked BETWEEN 0 AND qty)
        ) WITH (fillfactor = 70)
    """)
    op.execute("CREATE INDEX exchange_holding_of ON exchange_holding (agent_did) WHERE qty > 0")
    op.execute("""
        -- Movements of points, by the numbers of their listing. Those of one movement sum to zero; `agent_did` is empty for the side
        -- of the listing, which has issued less than it took back.
        CREATE TABLE exchange_point_posting (
          ref text NOT NULL REFERENCES exchange_listing,
          seq bigint NOT NULL CHECK (seq > 0),
          agent_did text NOT NULL CHECK (length(agent_did) <= 512),
          delta bigint NOT NULL CHECK (delta <> 0),
          cause text NOT NULL CHECK (cause IN ('launch', 'trade', 'transfer', 'surrender')),
          recorded_at timestamptz NOT NULL DEFAULT now(),
          PRIMARY KEY (ref, seq, agent_did)
        )
    """)
    op.execute("CREATE INDEX exchange_point_posting_of ON exchange_point_posting (agent_did, ref, seq)")
    op.execute("""
        -- Subscriptions of a launch, sealed until it closes. Each has a hold of quantity times price; `settled_at`: the hold has ended.
        CREATE TABLE exchange_subscription (
          id uuid PRIMARY KEY,
          ref text NOT NULL REFERENCES exchange_listing,
          seq bigint NOT NULL CHECK (seq > 0),
          agent_did text NOT NULL CHECK (length(agent_did) <= 512),
          -- `developer:<id>` or `organization:<id>`, at the subscription.
          owner text NOT NULL CHECK (length(owner) <= 64),
          qty bigint NOT NULL CHECK (qty > 0),
          allocated bigint NOT NULL DEFAULT 0 CHECK (allocated BETWEEN 0 AND qty),
          hold_id bigint NOT NULL UNIQUE,
          status text NOT NULL DEFAULT 'subscribed' CHECK (status IN ('subscribed', 'allocated', 'cancelled', 'failed')),
          -- Budgets of the agent that counted it, which get back what is not paid.
          is_counted boolean NOT NULL,
          capability_id uuid,
          grant_id uuid,
          created_at timestamptz NOT NULL DEFAULT now(),
          settled_at timestamptz,
          UNIQUE (ref, seq),
          CHECK (allocated = 0 OR status = 'allocated'),
          CHECK (settled_at IS NULL OR status <> 'subscribed'),
          CHECK (settled_at IS NOT NULL OR status <> 'cancelled')
        )
    """)
    op.execute("""
        CREATE UNIQUE INDEX exchange_subscription_live ON exchange_subscription (ref, agent_did)
        WHERE status <> 'cancelled'
    """)
    op.execute("CREATE INDEX exchange_subscription_of ON exchange_subscription (agent_did, ref, seq)")
    op.execute("""
        CREATE INDEX exchange_subscription_unsettled ON exchange_subscription (ref, seq) WHERE settled_at IS NULL
    """)
