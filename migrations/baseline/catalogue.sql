-- Catalogue: agent cards, visits to the hosts of agents, mirrors of the cards of peers, enforcement across registries.

-- Agent cards: own ones, listing cards without an agent, and mirrors of peers' cards.
CREATE TABLE catalogue_card (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  uuid uuid NOT NULL UNIQUE,
  did text UNIQUE CHECK (length(did) BETWEEN 10 AND 512),
  human_readable_id text NOT NULL CHECK (length(human_readable_id) BETWEEN 3 AND 129),
  developer_id bigint,
  name text NOT NULL CHECK (length(name) BETWEEN 1 AND 253),
  description text NOT NULL CHECK (length(description) <= 8192),
  -- The document byte for byte: jsonb would write a number such as 1e308 in full.
  card_data json NOT NULL,
  card_bytes int NOT NULL,
  pricing json,
  tags text[] NOT NULL DEFAULT '{}',
  tee_type text,
  encircled boolean NOT NULL DEFAULT false,
  is_stub boolean NOT NULL DEFAULT false,
  host text CHECK (length(host) <= 2048),
  is_active boolean NOT NULL DEFAULT true,
  status text NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'suspended', 'revoked')),
  unlisted boolean NOT NULL DEFAULT false,
  settlement_currency text NOT NULL CHECK (length(settlement_currency) BETWEEN 2 AND 8),
  trust_domain text NOT NULL CHECK (length(trust_domain) <= 253),
  source_registry text CHECK (length(source_registry) <= 512),
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  last_pull_attempt_at timestamptz,
  last_pull_status text,
  pull_failures int NOT NULL DEFAULT 0 CHECK (pull_failures >= 0),
  -- Transaction of the last change: a "changed since" reading stops before the oldest open one.
  changed_xid bigint NOT NULL DEFAULT 0,
  -- Case-folded texts, for searching.
  name_text text NOT NULL,
  description_text text NOT NULL,
  tags_text text NOT NULL,
  skills_text text NOT NULL,
  status_since date CHECK (status_since IS NULL OR status <> 'active'),
  liveness text NOT NULL DEFAULT 'unknown' CHECK (liveness IN ('unknown', 'alive', 'unreachable')),
  liveness_checked_at timestamptz,
  last_alive_at timestamptz,
  -- Times at which the agent's own host last served this card, and its signature was last verified as the agent's.
  host_verified_at timestamptz,
  signature_verified_at timestamptz,
  verified_jobs int NOT NULL DEFAULT 0 CHECK (verified_jobs >= 0),
  bonded boolean NOT NULL DEFAULT false,
  search_xid bigint NOT NULL DEFAULT 0,
  -- Version of the document, the time since which it is current, and its source.
  version int NOT NULL DEFAULT 1 CHECK (version >= 1),
  document_since timestamptz NOT NULL DEFAULT now(),
  document_source text NOT NULL DEFAULT 'owner' CHECK (document_source IN ('owner', 'pull')),
  -- Hash of the document that the agent last served: until it changes, the owner's document stays.
  pulled_hash bytea CHECK (length(pulled_hash) = 32),
  -- Time since which the card is in no public listing; a tombstone shows it for some days.
  hidden_since timestamptz,
  -- The document of a revoked card is deleted in the end; the DID and the status stay.
  is_erased boolean NOT NULL DEFAULT false CHECK (is_erased = false OR status = 'revoked'),
  -- Version of a mirrored card at its home; an older one never replaces it.
  peer_version bigint CHECK (peer_version >= 0),
  -- Presence of the row in the index of listed texts: half of the work of writing a card, done by a sweep.
  texts_sorted boolean NOT NULL DEFAULT false,
  agent_score smallint NOT NULL DEFAULT 0 CHECK (agent_score BETWEEN 0 AND 1000),
  track_record jsonb,
  -- Statement of the card about its bond; `bonded`: the bond counts.
  bond_state text,
  bond_amount bigint CHECK (bond_amount >= 0),
  -- Version of an own card for peers: it rises with every change of an exported member. Null: as `changed_xid`.
  item_version bigint,
  -- Transaction that last changed the status of an own card, and the resulting version.
  status_xid bigint,
  status_version bigint,
  -- Status that the home of a mirrored card states, and the version at which it last changed.
  peer_status text NOT NULL DEFAULT 'active' CHECK (peer_status IN ('active', 'suspended', 'revoked')),
  peer_status_version bigint CHECK (peer_status_version >= 0),
  CHECK (is_stub = false OR host IS NOT NULL),
  CHECK ((source_registry IS NULL) = (developer_id IS NOT NULL))
);
CREATE UNIQUE INDEX catalogue_card_native_hri ON catalogue_card (human_readable_id) WHERE source_registry IS NULL;
CREATE INDEX catalogue_card_mirrored_hri ON catalogue_card (human_readable_id) WHERE source_registry IS NOT NULL;
CREATE INDEX catalogue_card_developer ON catalogue_card (developer_id, id);
CREATE INDEX catalogue_card_shown ON catalogue_card (id) WHERE is_active AND NOT unlisted AND status = 'active' AND source_registry IS NULL;
CREATE INDEX catalogue_card_updated ON catalogue_card (updated_at, id);
CREATE INDEX catalogue_card_changed ON catalogue_card (changed_xid);
CREATE INDEX catalogue_card_tags ON catalogue_card USING gin (tags);
CREATE INDEX catalogue_card_search ON catalogue_card (search_xid);
CREATE INDEX catalogue_card_to_erase ON catalogue_card (hidden_since) WHERE status = 'revoked' AND NOT is_erased;
CREATE INDEX catalogue_card_texts_unsorted ON catalogue_card (id) WHERE NOT texts_sorted;
CREATE INDEX catalogue_card_of_peer ON catalogue_card (source_registry) WHERE source_registry IS NOT NULL;
-- A page far down a list is found in an index alone, with mirrors or without.
CREATE INDEX catalogue_card_shown_anywhere ON catalogue_card (id) WHERE is_active AND NOT unlisted AND status = 'active';
CREATE INDEX catalogue_card_tee ON catalogue_card (tee_type, id) WHERE tee_type IS NOT NULL;
CREATE INDEX catalogue_card_enclave ON catalogue_card (id) WHERE tee_type IS NOT NULL;
CREATE INDEX catalogue_card_encircled ON catalogue_card (id) WHERE encircled;
CREATE INDEX catalogue_card_exported ON catalogue_card (changed_xid, id) WHERE source_registry IS NULL AND did IS NOT NULL;
CREATE INDEX catalogue_card_acted_on ON catalogue_card (status_xid, id)
  WHERE source_registry IS NULL AND did IS NOT NULL AND status_xid IS NOT NULL;
CREATE INDEX catalogue_card_mirror_acted_on ON catalogue_card (id)
  WHERE source_registry IS NOT NULL AND (peer_status <> 'active' OR status <> 'active');
-- Statistics of words: an index of some of the cards does not show the planner how rare a word is.
CREATE STATISTICS catalogue_card_listed_words ON (name_text || chr(31) || description_text) FROM catalogue_card;
-- Search is right without trigrams and fast with them; the extension may be missing, or refused to this role. The index takes cards in
-- when a sweep says so: entries wait in a list of its own, which the sweep sorts in, so that no writer pays for many others.
DO $$
BEGIN
  IF EXISTS (SELECT FROM pg_available_extensions WHERE name = 'pg_trgm') THEN
    CREATE EXTENSION IF NOT EXISTS pg_trgm;
    CREATE INDEX catalogue_card_listed_text ON catalogue_card USING gin ((name_text || chr(31) || description_text) gin_trgm_ops)
      WITH (gin_pending_list_limit = 524288) WHERE texts_sorted;
  END IF;
EXCEPTION WHEN insufficient_privilege OR undefined_object OR undefined_file OR unique_violation THEN
  RAISE NOTICE USING MESSAGE = 'catalogue search runs without trigram index: ' || SQLERRM;
END $$;

-- Former documents of a card.
CREATE TABLE catalogue_card_version (
  card_id bigint NOT NULL REFERENCES catalogue_card ON DELETE CASCADE,
  version int NOT NULL CHECK (version >= 1),
  card_data json NOT NULL,
  card_hash bytea NOT NULL CHECK (length(card_hash) = 32),
  source text NOT NULL CHECK (source IN ('owner', 'pull')),
  valid_from timestamptz NOT NULL,
  valid_until timestamptz NOT NULL,
  PRIMARY KEY (card_id, version)
);

-- Visits to an agent's own host and their outcomes: its card (pull), its health check (liveness). Narrow and beside the card: a visit
-- without news does not rewrite the document.
CREATE TABLE catalogue_visit (
  card_id bigint NOT NULL REFERENCES catalogue_card ON DELETE CASCADE,
  errand text NOT NULL CHECK (errand IN ('pull', 'liveness')),
  -- host:port in the spelling of the card: one visit at a time is made there.
  place text,
  failures int NOT NULL DEFAULT 0 CHECK (failures >= 0),
  attempted_at timestamptz,
  outcome text CHECK (length(outcome) <= 32),
  trouble text CHECK (length(trouble) <= 300),
  -- Address at which a pull found the card, and the content found there.
  found_at text,
  etag text CHECK (length(etag) <= 256),
  served_hash bytea CHECK (length(served_hash) = 32),
  served_members text[] NOT NULL DEFAULT '{}',
  -- Version of the card that its host serves.
  served_version int,
  PRIMARY KEY (card_id, errand)
) WITH (fillfactor = 70);

-- Number of listed cards of each class; a class may have several rows, whose sum counts. Writers only add rows, so that they never wait for
-- each other; a sweep sums them up. The columns have the names of those of a card, so that a condition on cards applies to classes.
CREATE TABLE catalogue_card_class (
  is_active boolean NOT NULL,
  source_registry text,
  settlement_currency text NOT NULL,
  tee_type text,
  encircled boolean NOT NULL,
  cards bigint NOT NULL
);

-- Deleted cards, for readers of changes who hold copies: the search index.
CREATE TABLE catalogue_card_deleted (
  card_id bigint NOT NULL,
  position bigint NOT NULL,
  at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX catalogue_card_deleted_position ON catalogue_card_deleted (position);

-- Cursor of each peer, moved in the transaction that applies its page.
CREATE TABLE catalogue_peer_sync (
  peer_id bigint PRIMARY KEY,
  epoch bigint,
  export_version int,
  cards_next text CHECK (length(cards_next) <= 512),
  acts_next text CHECK (length(acts_next) <= 512),
  page_size int NOT NULL DEFAULT 1000 CHECK (page_size BETWEEN 200 AND 10000),
  cards_due_at timestamptz NOT NULL DEFAULT now(),
  acts_due_at timestamptz NOT NULL DEFAULT now(),
  reconcile_due_at timestamptz NOT NULL DEFAULT now(),
  relayed_next text CHECK (length(relayed_next) <= 512),
  relayed_epoch bigint
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

-- Own acts that each peer has to apply: time of the notification, and the peer's signed receipt.
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
  PRIMARY KEY (agent_did, version, ledger_id),
  CHECK ((received_at IS NULL) = (receipt IS NULL))
);
CREATE INDEX catalogue_act_notice_open ON catalogue_act_notice (peer_id) WHERE received_at IS NULL;

-- Items that the home of a mirrored card signed, byte for byte. Written with RELAY_CARDS alone.
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

-- Registries that are no peers: their cards come by the nearest peer that passes them on.
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
