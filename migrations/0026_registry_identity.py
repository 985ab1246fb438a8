"""The registry to which a database belongs, and positions of transactions that keep rising in a restored copy."""

from alembic import op

revision = "0026"
down_revision = "0025"

SQL = """
-- The registry whose data this is: recorded when its book is founded, compared at every start.
CREATE TABLE plumbing_registry (
  is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
  registry_name text NOT NULL CHECK (length(registry_name) BETWEEN 1 AND 128),
  trust_domain text NOT NULL CHECK (length(trust_domain) BETWEEN 3 AND 253),
  recorded_at timestamptz NOT NULL DEFAULT now()
);

-- SHA-256 of the public half of each key in DIR/keys, or of the secret; never the key.
CREATE TABLE plumbing_registry_key (
  name text PRIMARY KEY,
  fingerprint bytea NOT NULL CHECK (octet_length(fingerprint) = 32),
  recorded_at timestamptz NOT NULL DEFAULT now()
);

-- The database cluster in which positions are assigned, and the first position assigned there.
CREATE TABLE plumbing_cluster (
  is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
  system_identifier bigint NOT NULL,
  first_position bigint NOT NULL CHECK (first_position >= 0),
  recorded_at timestamptz NOT NULL DEFAULT now()
);

-- A position is a transaction id plus a shift. The shift grows when the database is restored into another cluster,
-- whose transaction ids may begin anew, so that every later position is above every earlier one. It is a function
-- without a table, which costs nothing: the planner puts the number in its place.
CREATE FUNCTION plumbing_position_shift() RETURNS bigint LANGUAGE sql STABLE PARALLEL SAFE RETURN 0::bigint;

-- The position of this transaction.
CREATE FUNCTION plumbing_position() RETURNS bigint LANGUAGE sql STABLE
RETURN pg_current_xact_id()::text::bigint + plumbing_position_shift();

-- Every transaction before this position has ended.
CREATE FUNCTION plumbing_oldest_open() RETURNS bigint LANGUAGE sql STABLE PARALLEL SAFE
RETURN pg_snapshot_xmin(pg_current_snapshot())::text::bigint + plumbing_position_shift();

-- No transaction from this position on is visible.
CREATE FUNCTION plumbing_not_begun() RETURNS bigint LANGUAGE sql STABLE PARALLEL SAFE
RETURN pg_snapshot_xmax(pg_current_snapshot())::text::bigint + plumbing_position_shift();

ALTER TABLE journal_event ALTER COLUMN xid SET DEFAULT plumbing_position();

CREATE OR REPLACE FUNCTION catalogue_mark_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.updated_at := clock_timestamp();
  IF TG_OP = 'INSERT' THEN
    NEW.created_at := NEW.updated_at;
  END IF;
  NEW.changed_xid := plumbing_position();
  RETURN NEW;
END $$;

CREATE OR REPLACE FUNCTION catalogue_mark_search() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.search_xid := plumbing_position();
  NEW.texts_sorted := false;
  RETURN NEW;
END $$;
"""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(SQL)
