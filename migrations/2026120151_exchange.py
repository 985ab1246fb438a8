"""Exchange: revenue that is levied from organizations, and its distribution to the holders of points."""

from alembic import op

revision = "2026120151"
down_revision = "2026120141"


def upgrade() -> None:
    op.execute("""
        -- Revenue of a listing from the transaction that launched it (`from_position`) until that which ended its term (`to_position`).
        -- Amounts are minor units. `per_point` is the sum of what was distributed for one point, `carried` what is in the account of the
        -- listing and was not distributed yet, `remainder` the rest of the division of the last levy.
        CREATE TABLE exchange_revenue (
          ref text PRIMARY KEY REFERENCES exchange_listing,
          from_position bigint NOT NULL,
          to_position bigint,
          launched_on date NOT NULL DEFAULT (now() AT TIME ZONE 'UTC')::date,
          levied_on date,
          -- The last levy was made.
          is_over boolean NOT NULL DEFAULT false,
          remainder bigint NOT NULL DEFAULT 0 CHECK (remainder >= 0),
          per_point numeric(40) NOT NULL DEFAULT 0 CHECK (per_point >= 0),
          carried bigint NOT NULL DEFAULT 0 CHECK (carried >= 0),
          CHECK (to_position >= from_position),
          CHECK (NOT is_over OR to_position IS NOT NULL)
        ) WITH (fillfactor = 50)
    """)
    op.execute("""
        -- Place in the journal up to which credits were counted.
        CREATE TABLE exchange_revenue_counted (
          is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
          before_xid bigint NOT NULL
        )
    """)
    op.execute("INSERT INTO exchange_revenue_counted (before_xid) VALUES (0)")
    op.execute("""
        -- Credits that wait for the next levy of a listing, by their payer.
        CREATE TABLE exchange_credit (
          ref text NOT NULL REFERENCES exchange_revenue,
          payer text NOT NULL CHECK (length(payer) <= 512),
          amount numeric(40) NOT NULL CHECK (amount > 0),
          PRIMARY KEY (ref, payer)
        ) WITH (fillfactor = 50)
    """)
    op.execute("""
        -- The levy of a day (UTC), once: `held` points shared `revenue`. `arrears` are those after it.
        CREATE TABLE exchange_levy (
          ref text NOT NULL REFERENCES exchange_revenue,
          day date NOT NULL,
          revenue numeric(40) NOT NULL CHECK (revenue >= 0),
          held bigint NOT NULL CHECK (held >= 0),
          due bigint NOT NULL CHECK (due >= 0),
          taken bigint NOT NULL CHECK (taken >= 0),
          arrears bigint NOT NULL CHECK (arrears >= 0),
          levied_at timestamptz NOT NULL DEFAULT now(),
          PRIMARY KEY (ref, day)
        )
    """)
    op.execute("""
        -- Distributions of a holding: `owed` are units that it was given and has not been paid, up to the index `settled`.
        ALTER TABLE exchange_holding
          ADD COLUMN owed bigint NOT NULL DEFAULT 0 CHECK (owed >= 0),
          ADD COLUMN settled numeric(40) NOT NULL DEFAULT 0 CHECK (settled >= 0)
    """)
