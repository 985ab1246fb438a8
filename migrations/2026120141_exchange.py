"""Exchange: orders and trades."""

from alembic import op

revision = "2026120141"
down_revision = "2026120132"


def upgrade() -> None:
    op.execute("""
        -- Orders of agents by the numbers of their listing. `remaining` is what is not filled, also of an order that has ended. An open
        -- buy has a hold of remaining times price. `owner` is the owner of the agent when it placed the order.
        CREATE TABLE exchange_order (
          ref text NOT NULL REFERENCES exchange_listing,
          seq bigint NOT NULL CHECK (seq > 0),
          id uuid NOT NULL UNIQUE,
          agent_did text NOT NULL CHECK (length(agent_did) <= 512),
          owner text NOT NULL CHECK (length(owner) <= 64),
          side text NOT NULL CHECK (side IN ('buy', 'sell')),
          qty bigint NOT NULL CHECK (qty > 0),
          price bigint CHECK (price > 0),
          time_in_force text NOT NULL CHECK (time_in_force IN ('gtc', 'ioc', 'fok')),
          post_only boolean NOT NULL,
          remaining bigint NOT NULL CHECK (remaining BETWEEN 0 AND qty),
          hold_id bigint UNIQUE,
          client_order_id text CHECK (length(client_order_id) BETWEEN 1 AND 64),
          digest bytea NOT NULL CHECK (octet_length(digest) = 32),
          expires_at timestamptz,
          -- Budgets of the agent that counted a buy, which get back what is not paid.
          is_counted boolean NOT NULL,
          capability_id uuid,
          grant_id uuid,
          created_at timestamptz NOT NULL DEFAULT now(),
          ended_because text CHECK (ended_because IN ('filled', 'cancelled', 'replaced', 'expired', 'suspended', 'delisted', 'ioc',
            'fok', 'collar', 'self_trade')),
          ended_at timestamptz,
          PRIMARY KEY (ref, seq),
          UNIQUE (agent_did, client_order_id),
          CHECK ((ended_at IS NULL) = (ended_because IS NULL)),
          CHECK ((remaining = 0) = (ended_because IS NOT DISTINCT FROM 'filled')),
          CHECK (time_in_force = 'ioc' OR price IS NOT NULL),
          CHECK (ended_at IS NOT NULL OR time_in_force = 'gtc' AND (hold_id IS NOT NULL) = (side = 'buy')),
          CHECK (side = 'buy' OR num_nulls(hold_id, capability_id, grant_id) = 3 AND NOT is_counted)
        ) WITH (fillfactor = 70)
    """)
    op.execute("""
        CREATE INDEX exchange_order_book ON exchange_order (ref, side, price, seq) WHERE ended_at IS NULL
    """)
    op.execute("""
        CREATE INDEX exchange_order_due ON exchange_order (ref, expires_at) WHERE ended_at IS NULL AND expires_at IS NOT NULL
    """)
    op.execute(
        "CREATE INDEX exchange_order_open_of ON exchange_order (agent_did, ref) WHERE ended_at IS NULL"
    )
    op.execute("CREATE INDEX exchange_order_of ON exchange_order (agent_did, created_at DESC, id)")
    op.execute("""
        -- Trades, each one transaction of the ledger. `fee` is the part of the amount that the seller paid.
        CREATE TABLE exchange_trade (
          ref text NOT NULL,
          seq bigint NOT NULL,
          taker_seq bigint NOT NULL,
          maker_seq bigint NOT NULL,
          taker_side text NOT NULL CHECK (taker_side IN ('buy', 'sell')),
          price bigint NOT NULL CHECK (price > 0),
          qty bigint NOT NULL CHECK (qty > 0),
          buyer text NOT NULL CHECK (length(buyer) <= 512),
          seller text NOT NULL CHECK (length(seller) <= 512),
          fee bigint NOT NULL CHECK (fee BETWEEN 0 AND price * qty),
          tx_id bigint NOT NULL UNIQUE,
          recorded_at timestamptz NOT NULL DEFAULT clock_timestamp(),
          PRIMARY KEY (ref, seq),
          FOREIGN KEY (ref, taker_seq) REFERENCES exchange_order,
          FOREIGN KEY (ref, maker_seq) REFERENCES exchange_order,
          CHECK (buyer <> seller),
          CHECK (maker_seq < taker_seq AND taker_seq < seq)
        )
    """)
    op.execute("CREATE INDEX exchange_trade_taken ON exchange_trade (ref, taker_seq)")
    op.execute("CREATE INDEX exchange_trade_made ON exchange_trade (ref, maker_seq)")
    op.execute("CREATE INDEX exchange_trade_at ON exchange_trade (ref, recorded_at)")
