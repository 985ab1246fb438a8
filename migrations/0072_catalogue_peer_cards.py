"""Catalogue: versions under which cards are exported to peers, cursors of what is read from peers, and enforcement across."""

from alembic import op

revision = "0072"
down_revision = "0071"

SQL = """
-- The version of an own card as peers see it: it rises with every change of anything that is exported. Null: as `changed_xid`.
ALTER TABLE catalogue_card ADD item_version bigint,
  -- The transaction that last changed the status of an own card, and the version that this gave it.
  ADD status_xid bigint,
  ADD status_version bigint,
  -- The status that the home of a mirrored card states, and the version at which it last changed.
  ADD peer_status text NOT NULL DEFAULT 'active' CHECK (peer_status IN ('active', 'suspended', 'revoked')),
  ADD peer_status_version bigint CHECK (peer_status_version >= 0),
  DROP CONSTRAINT catalogue_card_source_registry_check,
  ADD CONSTRAINT catalogue_card_source_registry_check CHECK (length(source_registry) <= 512);
CREATE INDEX catalogue_card_exported ON catalogue_card (changed_xid, id)
  WHERE source_registry IS NULL AND did IS NOT NULL;
CREATE INDEX catalogue_card_acted_on ON catalogue_card (status_xid, id)
  WHERE source_registry IS NULL AND did IS NOT NULL AND status_xid IS NOT NULL;
CREATE INDEX catalogue_card_mirror_acted_on ON catalogue_card (id)
  WHERE source_registry IS NOT NULL AND (peer_status <> 'active' OR status <> 'active');

-- Deleted cards, for readers of changes who hold copies: the search index.
CREATE TABLE catalogue_card_deleted (
  card_id bigint NOT NULL,
  position bigint NOT NULL,
  at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX catalogue_card_deleted_position ON catalogue_card_deleted (position);

-- How far each peer was read. A cursor moves in the transaction that applies its page.
CREATE TABLE catalogue_peer_sync (
  peer_id bigint PRIMARY KEY,
  epoch bigint,
  export_version int,
  cards_next text CHECK (length(cards_next) <= 512),
  acts_next text CHECK (length(acts_next) <= 512),
  page_size int NOT NULL DEFAULT 1000 CHECK (page_size BETWEEN 200 AND 10000),
  cards_due_at timestamptz NOT NULL DEFAULT now(),
  acts_due_at timestamptz NOT NULL DEFAULT now(),
  reconcile_due_at timestamptz NOT NULL DEFAULT now()
);

-- Acts of peers on their agents that were applied to mirrors here, until their receipt is at the peer.
CREATE TABLE catalogue_applied_act (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  peer_id bigint NOT NULL,
  agent_did text NOT NULL,
  version bigint NOT NULL,
  act text NOT NULL CHECK (act IN ('suspended', 'reinstated', 'revoked')),
  mode text NOT NULL CHECK (mode IN ('shadow', 'enforce')),
  applied_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  position bigint NOT NULL,
  receipted_at timestamptz
);
CREATE INDEX catalogue_applied_act_open ON catalogue_applied_act (peer_id, id) WHERE receipted_at IS NULL;

-- Own acts that each peer has to apply: when it was notified, and its signed receipt.
CREATE TABLE catalogue_act_notice (
  agent_did text NOT NULL,
  version bigint NOT NULL,
  peer_id bigint NOT NULL,
  ledger_id text NOT NULL,
  peer_name text NOT NULL,
  act text NOT NULL CHECK (act IN ('suspended', 'reinstated', 'revoked')),
  acted_at timestamptz NOT NULL,
  notified_at timestamptz,
  received_at timestamptz,
  receipt text CHECK (length(receipt) <= 4096),
  receipt_mode text,
  applied_at timestamptz,
  log_position bigint,
  CHECK ((received_at IS NULL) = (receipt IS NULL)),
  PRIMARY KEY (agent_did, version, ledger_id)
);
CREATE INDEX catalogue_act_notice_open ON catalogue_act_notice (peer_id) WHERE received_at IS NULL;
"""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(SQL)
