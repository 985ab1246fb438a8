"""Exchange: the stock card and those of peers; candles and pairs of parties, counted from the trades."""

from alembic import op

revision = "2026120161"
down_revision = "2026120162"


def upgrade() -> None:
    op.execute("ALTER TABLE federation_registry_card ADD COLUMN stock_card json")
    op.execute("""
        -- The stock card that the registry card signs: closes of `day` (UTC) and listings, as JSON.
        CREATE TABLE exchange_stock_card (
          is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
          day date NOT NULL,
          document text NOT NULL,
          digest bytea NOT NULL CHECK (octet_length(digest) = 32),
          made_at timestamptz NOT NULL
        )
    """)
    op.execute("""
        -- The last stock card of each peer that its registry card verified.
        CREATE TABLE exchange_venue (
          ledger_id text PRIMARY KEY CHECK (length(ledger_id) <= 512),
          document json NOT NULL,
          digest bytea NOT NULL CHECK (octet_length(digest) = 32),
          read_at timestamptz NOT NULL DEFAULT now()
        )
    """)
    op.execute("""
        -- Trades of a listing that are counted in candles and pairs, up to the number `seq`. `traders` and `top_pair_bps` are those of the
        -- 30 days before `active_at`, from the trades up to `active_seq`.
        CREATE TABLE exchange_trade_counted (
          ref text PRIMARY KEY REFERENCES exchange_listing,
          seq bigint NOT NULL DEFAULT 0 CHECK (seq >= 0),
          traders integer NOT NULL DEFAULT 0 CHECK (traders >= 0),
          top_pair_bps smallint CHECK (top_pair_bps BETWEEN 1 AND 10000),
          active_seq bigint NOT NULL DEFAULT 0,
          active_at timestamptz,
          CHECK ((traders = 0) = (top_pair_bps IS NULL)),
          CHECK (active_seq BETWEEN 0 AND seq)
        ) WITH (fillfactor = 50)
    """)
    op.execute("""
        -- Trades of one span: a minute, an hour or a day in UTC.
        CREATE TABLE exchange_candle (
          ref text NOT NULL REFERENCES exchange_listing,
          span_seconds integer NOT NULL CHECK (span_seconds IN (60, 3600, 86400)),
          t timestamptz NOT NULL,
          open bigint NOT NULL CHECK (open > 0),
          high bigint NOT NULL,
          low bigint NOT NULL CHECK (low > 0),
          close bigint NOT NULL,
          volume bigint NOT NULL CHECK (volume > 0),
          notional numeric(40) NOT NULL CHECK (notional > 0),
          trades bigint NOT NULL CHECK (trades > 0),
          PRIMARY KEY (ref, span_seconds, t),
          CHECK (open BETWEEN low AND high AND close BETWEEN low AND high)
        ) WITH (fillfactor = 70)
    """)
    op.execute("""
        -- Points that two agents traded with each other on a day (UTC); kept for 30 days.
        CREATE TABLE exchange_pair_day (
          ref text NOT NULL REFERENCES exchange_listing,
          day date NOT NULL,
          one text COLLATE "C" NOT NULL CHECK (length(one) <= 512),
          other text COLLATE "C" NOT NULL CHECK (length(other) <= 512),
          qty bigint NOT NULL CHECK (qty > 0),
          PRIMARY KEY (ref, day, one, other),
          CHECK (one < other)
        ) WITH (fillfactor = 70)
    """)
