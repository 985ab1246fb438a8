"""Catalogue: the signed items of mirrored cards are kept to be passed on, and registries that are known by a relay."""

from alembic import op

revision = "0155"
down_revision = "0147"

SQL = """
-- What the home of a mirrored card signed, word for word. Written with RELAY_CARDS alone.
CREATE TABLE catalogue_signed_item (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  did text NOT NULL UNIQUE,
  source_registry text NOT NULL,
  epoch bigint NOT NULL,
  version bigint NOT NULL,
  position bigint NOT NULL,
  item json NOT NULL
);
CREATE INDEX catalogue_signed_item_position ON catalogue_signed_item (position, id);
CREATE INDEX catalogue_signed_item_home ON catalogue_signed_item (source_registry);

-- Registries that are no peers: their cards come by the peer that is the nearest of those that pass them on.
CREATE TABLE catalogue_home (
  ledger_id text PRIMARY KEY,
  peer_id bigint NOT NULL,
  relay_ledger_id text NOT NULL,
  hop_distance int NOT NULL CHECK (hop_distance BETWEEN 2 AND 5),
  registry_url text NOT NULL CHECK (length(registry_url) <= 500),
  registry_name text,
  settlement_currency text,
  keys json,
  epoch bigint,
  trouble text,
  read_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  CHECK ((keys IS NULL) = (trouble IS NOT NULL)),
  CHECK ((keys IS NULL) = (registry_name IS NULL)),
  CHECK ((keys IS NULL) = (settlement_currency IS NULL))
);
CREATE INDEX catalogue_home_peer ON catalogue_home (peer_id);

ALTER TABLE catalogue_peer_sync ADD COLUMN relayed_next text CHECK (length(relayed_next) <= 512),
  ADD COLUMN relayed_epoch bigint;
"""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(SQL)
