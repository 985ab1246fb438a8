"""Federation: other registries as peers, what was refused of them, and invitations."""

from alembic import op

revision = "0061"
down_revision = "0060"

SQL = """
-- Another registry. What was read of it is the last that was verified; before its card is, the SPIFFE id is null.
CREATE TABLE federation_peer (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  spiffe_id text UNIQUE CHECK (starts_with(spiffe_id, 'spiffe://' || trust_domain || '/registry/')),
  ledger_id text UNIQUE,
  registry_name text NOT NULL CHECK (length(registry_name) BETWEEN 1 AND 253),
  trust_domain text NOT NULL CHECK (length(trust_domain) BETWEEN 3 AND 255),
  registry_url text NOT NULL,
  federation_base_url text,
  peer_type text NOT NULL DEFAULT 'direct_peer'
    CHECK (peer_type IN ('direct_peer', 'discovered', 'cloud_operator', 'frame')),
  hop_distance integer NOT NULL DEFAULT 1 CHECK (hop_distance BETWEEN 1 AND 64),
  status text NOT NULL DEFAULT 'inactive' CHECK (status IN ('active', 'inactive')),
  approval text NOT NULL DEFAULT 'pending' CHECK (approval IN ('pending', 'approved')),
  paused_at timestamptz,
  removing boolean NOT NULL DEFAULT false,
  quarantined_at timestamptz,
  quarantine_reason text CHECK ((quarantine_reason IS NULL) = (quarantined_at IS NULL)),
  settlement_currency text,
  did_namespace text,
  -- The trust bundle in SPIFFE form. A lower sequence never replaces a higher one.
  bundle json NOT NULL,
  bundle_sequence bigint NOT NULL CHECK (bundle_sequence >= 0),
  bundle_sha256 text NOT NULL CHECK (bundle_sha256 ~ '^[0-9a-f]{64}$'),
  bundle_fetched_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- The registry card and the key set that verified it.
  card text CHECK (octet_length(card) <= 262144),
  card_etag text,
  card_kid text,
  card_fetched_at timestamptz,
  card_signed_at timestamptz,
  card_expires_at timestamptz,
  card_verdicts json NOT NULL DEFAULT '[]',
  keys json,
  -- Minor units; null: unlimited by an administrator's choice.
  net_in_limit bigint DEFAULT 1000000000000 CHECK (net_in_limit >= 0),
  auto_slash_enabled boolean NOT NULL DEFAULT false,
  auto_slash_max_avt bigint NOT NULL DEFAULT 0 CHECK (auto_slash_max_avt >= 0),
  trust_state text NOT NULL DEFAULT 'unmeasured'
    CHECK (trust_state IN ('unmeasured', 'ok', 'warn', 'restricted', 'suspended')),
  total_interactions bigint NOT NULL DEFAULT 0,
  disputes_lost_with bigint NOT NULL DEFAULT 0,
  last_interaction_at timestamptz,
  last_synced_at timestamptz,
  -- Why the last attempt to reach or verify the peer failed; null after one that did not.
  trouble text,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  approved_at timestamptz CHECK ((approved_at IS NULL) = (approval = 'pending')),
  CHECK (card IS NULL OR (spiffe_id IS NOT NULL AND ledger_id IS NOT NULL AND keys IS NOT NULL
    AND federation_base_url IS NOT NULL AND settlement_currency IS NOT NULL)),
  CHECK (status = 'inactive' OR (approval = 'approved' AND card IS NOT NULL AND paused_at IS NULL AND NOT removing))
);
CREATE INDEX federation_peer_name ON federation_peer (registry_name);
CREATE INDEX federation_peer_trust_domain ON federation_peer (trust_domain);

-- How often something of a peer was refused, by reason.
CREATE TABLE federation_peer_refusal (
  peer_id bigint NOT NULL REFERENCES federation_peer ON DELETE CASCADE,
  reason text NOT NULL CHECK (reason ~ '^[a-z][a-z0-9_]{0,63}$'),
  count bigint NOT NULL CHECK (count > 0),
  last_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (peer_id, reason)
);

-- The evidence of peer trust. The mark keeps one thing from counting twice: an hour, a card's version, a dispute.
CREATE TABLE federation_peer_signal (
  peer_id bigint NOT NULL REFERENCES federation_peer ON DELETE CASCADE,
  kind text NOT NULL CHECK (kind IN ('crossing', 'dispute_lost', 'card_refused', 'unanswered')),
  mark text NOT NULL CHECK (length(mark) BETWEEN 1 AND 512),
  at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (peer_id, kind, mark)
);

-- Invitations that this registry signed. One is redeemed once; who did is kept, so that a repeat can be compared.
CREATE TABLE federation_invitation (
  jti uuid PRIMARY KEY,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  expires_at timestamptz NOT NULL CHECK (expires_at > created_at),
  redeemed_at timestamptz,
  redeemer_thumbprint text,
  redeemer_public_url text,
  redeemer_bundle_sha256 text,
  CHECK ((redeemed_at IS NULL) = (redeemer_thumbprint IS NULL)
    AND (redeemed_at IS NULL) = (redeemer_public_url IS NULL)
    AND (redeemed_at IS NULL) = (redeemer_bundle_sha256 IS NULL))
);

-- One row: the version counts changes of the roots that are trusted, and the sequence those of our own bundle.
CREATE TABLE federation_trust (
  is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
  version bigint NOT NULL DEFAULT 0,
  own_sequence bigint NOT NULL DEFAULT 0,
  own_sha256 text
);
INSERT INTO federation_trust DEFAULT VALUES;
"""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(SQL)
