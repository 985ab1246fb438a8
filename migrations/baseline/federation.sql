-- Federation: signing keys, certificates and licences, the registry card, peers and their trust, claims on DIDs.

-- DIDs that ledgers, here and of peers, refuse. A reactor copies it from enforcement_agent.
CREATE TABLE federation_blocklist (
  did text PRIMARY KEY CHECK (length(did) <= 512),
  since timestamptz NOT NULL
);

-- Every key with which the registry signed. The private half is sealed, and deleted when the key is retired.
CREATE TABLE federation_registry_key (
  sequence integer PRIMARY KEY CHECK (sequence > 0),
  registry_id text NOT NULL CHECK (registry_id ~ '^spiffe://' AND length(registry_id) <= 512),
  public_key bytea NOT NULL UNIQUE CHECK (octet_length(public_key) = 32),
  sealed_key bytea,
  valid_from timestamptz NOT NULL,
  retired_at timestamptz CHECK (retired_at > valid_from),
  CHECK ((retired_at IS NULL) = (sealed_key IS NOT NULL))
);
CREATE UNIQUE INDEX federation_registry_key_present ON federation_registry_key ((true)) WHERE retired_at IS NULL;

-- Admissions of other registries, each with a key of which only the hash is stored.
CREATE TABLE federation_licence_key (
  id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
  key_hash bytea NOT NULL UNIQUE CHECK (octet_length(key_hash) = 32),
  trust_domain text NOT NULL CHECK (length(trust_domain) BETWEEN 3 AND 253),
  note text CHECK (length(note) BETWEEN 1 AND 500),
  status text NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'suspended', 'revoked')),
  issued_by bigint NOT NULL,
  issued_at timestamptz NOT NULL DEFAULT now(),
  expires_at timestamptz CHECK (expires_at > issued_at),
  changed_at timestamptz NOT NULL DEFAULT now(),
  last_used_at timestamptz
);
CREATE INDEX federation_licence_key_newest ON federation_licence_key (issued_at DESC, id);

-- Certificates that the identity authority issued to services. A certificate without a row is refused.
CREATE TABLE federation_service_certificate (
  fingerprint bytea PRIMARY KEY CHECK (octet_length(fingerprint) = 32),
  name text NOT NULL CHECK (name ~ '^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$'),
  spiffe_id text NOT NULL CHECK (spiffe_id ~ '^spiffe://' AND length(spiffe_id) <= 512),
  issued_at timestamptz NOT NULL,
  expires_at timestamptz NOT NULL CHECK (expires_at > issued_at),
  revoked_at timestamptz
);
CREATE INDEX federation_service_certificate_name ON federation_service_certificate (name, issued_at);

-- One row: the part of the card that the operator writes. A writer locks it.
CREATE TABLE federation_registry_card (
  is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
  editable json NOT NULL DEFAULT '{}',
  -- Statement of the card about the licence that this registry holds; null without one.
  licence json,
  icon bytea CHECK (octet_length(icon) BETWEEN 1 AND 512000),
  icon_type text CHECK (icon_type IN ('image/png', 'image/jpeg')),
  updated_at timestamptz NOT NULL DEFAULT now(),
  fx json,
  CHECK ((icon IS NULL) = (icon_type IS NULL))
);
INSERT INTO federation_registry_card DEFAULT VALUES;

-- The card as it was signed, without the parts that change by themselves (economic, stats).
CREATE TABLE federation_registry_card_version (
  version bigint PRIMARY KEY CHECK (version > 0),
  card_etag text NOT NULL CHECK (card_etag ~ '^[0-9a-f]{32}$'),
  kid text NOT NULL,
  signed_at timestamptz NOT NULL,
  expires_at timestamptz NOT NULL CHECK (expires_at > signed_at),
  document text NOT NULL CHECK (octet_length(document) BETWEEN 2 AND 262144)
);

-- Keys with which this registry signs licences; its card has another. The private half of a retired key is deleted.
CREATE TABLE federation_licensing_key (
  kid text PRIMARY KEY CHECK (kid ~ '^[A-Za-z0-9_-]{43}$'),
  public_key bytea NOT NULL UNIQUE CHECK (octet_length(public_key) = 32),
  sealed_key bytea CHECK ((sealed_key IS NULL) = (retired_at IS NOT NULL)),
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  retired_at timestamptz,
  is_next boolean NOT NULL DEFAULT false,
  CHECK (NOT is_next OR retired_at IS NULL)
);
CREATE UNIQUE INDEX federation_licensing_key_present ON federation_licensing_key ((true)) WHERE retired_at IS NULL AND NOT is_next;
CREATE UNIQUE INDEX federation_licensing_key_next ON federation_licensing_key ((true)) WHERE is_next;

-- Every certificate that this registry issued. An active one past its end is expired.
CREATE TABLE federation_certificate (
  lid text PRIMARY KEY CHECK (length(lid) BETWEEN 1 AND 128),
  number bigint GENERATED ALWAYS AS IDENTITY UNIQUE,
  hash text NOT NULL UNIQUE CHECK (hash ~ '^[0-9a-f]{64}$'),
  certificate text NOT NULL CHECK (length(certificate) < 2000),
  type text NOT NULL CHECK (type IN ('genesis', 'frame', 'operator')),
  sub_trust_domain text NOT NULL,
  sub_name text NOT NULL,
  plan text NOT NULL,
  issued_at timestamptz NOT NULL,
  expires_at timestamptz CHECK (expires_at > issued_at),
  state text NOT NULL DEFAULT 'active' CHECK (state IN ('active', 'suspended', 'revoked', 'superseded')),
  -- Act that suspended the certificate: reinstating lifts the suspensions of the same act and no others.
  suspension uuid CHECK ((suspension IS NOT NULL) = (state = 'suspended')),
  updated_at timestamptz NOT NULL
);
CREATE UNIQUE INDEX federation_certificate_one_genesis ON federation_certificate ((true)) WHERE type = 'genesis';
CREATE INDEX federation_certificate_subject ON federation_certificate (sub_trust_domain, sub_name);
CREATE INDEX federation_certificate_suspension ON federation_certificate (suspension) WHERE suspension IS NOT NULL;

-- One row: the certificate that another registry, the genesis, issued to this one.
CREATE TABLE federation_network_certificate (
  is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
  certificate text NOT NULL,
  hash text NOT NULL,
  chain text[] NOT NULL,
  installed_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- One row: the signed list of all certificates above, made anew after a change or a day.
CREATE TABLE federation_issued_list (
  is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
  list text,
  generated_at bigint NOT NULL DEFAULT 0,
  is_current boolean NOT NULL DEFAULT false
);
INSERT INTO federation_issued_list DEFAULT VALUES;

-- Other registries, as they were last verified; the SPIFFE id is null until the card is.
CREATE TABLE federation_peer (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  spiffe_id text UNIQUE CHECK (starts_with(spiffe_id, 'spiffe://' || trust_domain || '/registry/')),
  ledger_id text UNIQUE,
  registry_name text NOT NULL CHECK (length(registry_name) BETWEEN 1 AND 253),
  trust_domain text NOT NULL CHECK (length(trust_domain) BETWEEN 3 AND 255),
  registry_url text NOT NULL,
  federation_base_url text,
  peer_type text NOT NULL DEFAULT 'direct_peer' CHECK (peer_type IN ('direct_peer', 'discovered', 'cloud_operator', 'frame')),
  hop_distance integer NOT NULL DEFAULT 1 CHECK (hop_distance BETWEEN 1 AND 64),
  status text NOT NULL DEFAULT 'inactive' CHECK (status IN ('active', 'inactive')),
  approval text NOT NULL DEFAULT 'pending' CHECK (approval IN ('pending', 'approved')),
  paused_at timestamptz,
  removing boolean NOT NULL DEFAULT false,
  quarantined_at timestamptz,
  quarantine_reason text CHECK ((quarantine_reason IS NULL) = (quarantined_at IS NULL)),
  settlement_currency text,
  did_namespace text,
  -- Trust bundle in SPIFFE form. A lower sequence never replaces a higher one.
  bundle json NOT NULL,
  bundle_sequence bigint NOT NULL CHECK (bundle_sequence >= 0),
  bundle_sha256 text NOT NULL CHECK (bundle_sha256 ~ '^[0-9a-f]{64}$'),
  bundle_fetched_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- Registry card and the key set that verified it.
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
  trust_state text NOT NULL DEFAULT 'unmeasured' CHECK (trust_state IN ('unmeasured', 'ok', 'warn', 'restricted', 'suspended')),
  total_interactions bigint NOT NULL DEFAULT 0,
  disputes_lost_with bigint NOT NULL DEFAULT 0,
  last_interaction_at timestamptz,
  last_synced_at timestamptz,
  -- Reason why the last attempt to reach or verify the peer failed; null after a success.
  trouble text,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  approved_at timestamptz CHECK ((approved_at IS NULL) = (approval = 'pending')),
  -- Time at which the roster of the frame of an operator registry was read; at first, the time at which it became a peer.
  roster_read_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- Score of a peer in thousandths; 0 while it is unmeasured.
  trust_weight smallint NOT NULL DEFAULT 0 CHECK (trust_weight BETWEEN 0 AND 1000),
  CHECK (card IS NULL OR (spiffe_id IS NOT NULL AND ledger_id IS NOT NULL AND keys IS NOT NULL AND federation_base_url IS NOT NULL
    AND settlement_currency IS NOT NULL)),
  CHECK (status = 'inactive' OR (approval = 'approved' AND card IS NOT NULL AND paused_at IS NULL AND NOT removing))
);
CREATE INDEX federation_peer_name ON federation_peer (registry_name);
CREATE INDEX federation_peer_trust_domain ON federation_peer (trust_domain);

-- Number of refusals of each peer, by reason.
CREATE TABLE federation_peer_refusal (
  peer_id bigint NOT NULL REFERENCES federation_peer ON DELETE CASCADE,
  reason text NOT NULL CHECK (reason ~ '^[a-z][a-z0-9_]{0,63}$'),
  count bigint NOT NULL CHECK (count > 0),
  last_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (peer_id, reason)
);

-- Evidence of peer trust. The mark prevents that one thing counts twice: an hour, a version of the card, a dispute.
CREATE TABLE federation_peer_signal (
  peer_id bigint NOT NULL REFERENCES federation_peer ON DELETE CASCADE,
  kind text NOT NULL CHECK (kind IN ('crossing', 'dispute_lost', 'card_refused', 'unanswered', 'swap_aborted')),
  mark text NOT NULL CHECK (length(mark) BETWEEN 1 AND 512),
  at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (peer_id, kind, mark)
);
CREATE UNIQUE INDEX federation_peer_signal_of_hour ON federation_peer_signal (peer_id, kind, date_trunc('hour', at AT TIME ZONE 'UTC'))
  WHERE kind IN ('card_refused', 'unanswered', 'swap_aborted');

-- Invitations that this registry signed. Each is redeemed once; the redeemer is stored, so that a repeat can be compared.
CREATE TABLE federation_invitation (
  jti uuid PRIMARY KEY,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  expires_at timestamptz NOT NULL CHECK (expires_at > created_at),
  redeemed_at timestamptz,
  redeemer_thumbprint text,
  redeemer_public_url text,
  redeemer_bundle_sha256 text,
  -- Operator whose certificates are issued with the redemption; null: an invitation of another frame.
  operator_name text CHECK (operator_name ~ '^[A-Za-z0-9._-]{1,120}$' AND operator_name NOT IN ('.', '..')),
  CHECK ((redeemed_at IS NULL) = (redeemer_thumbprint IS NULL) AND (redeemed_at IS NULL) = (redeemer_public_url IS NULL)
    AND (redeemed_at IS NULL) = (redeemer_bundle_sha256 IS NULL))
);

-- One row: the version counts changes of the trusted roots, the sequence those of the registry's own bundle.
CREATE TABLE federation_trust (
  is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
  version bigint NOT NULL DEFAULT 0,
  own_sequence bigint NOT NULL DEFAULT 0,
  own_sha256 text,
  own_counted_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- Roots of the trust domain in PEM, which an operator registry has from its frame; null at a frame.
  own_roots text
);
INSERT INTO federation_trust DEFAULT VALUES;

-- Verdict on the licence of each registry, this one included, by ledger id; valid until a list on which it rests is too old, or a
-- certificate ends.
CREATE TABLE federation_licence_verdict (
  ledger_id text PRIMARY KEY,
  hash text,
  certificate text,
  chain text[] NOT NULL DEFAULT '{}',
  code text NOT NULL,
  reason text NOT NULL,
  as_of timestamptz,
  valid_until timestamptz,
  checked_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  CHECK (code <> 'verified' OR valid_until IS NOT NULL)
);

-- Newest list of certificates that each issuer signed. An older one never replaces it.
CREATE TABLE federation_licence_list (
  trust_domain text NOT NULL,
  kid text NOT NULL,
  list text NOT NULL,
  generated_at bigint NOT NULL,
  fetched_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (trust_domain, kid)
);

-- Last statement of each peer about this registry, read over mutual TLS.
CREATE TABLE federation_own_trust (
  peer_id bigint PRIMARY KEY REFERENCES federation_peer ON DELETE CASCADE,
  mode text NOT NULL CHECK (mode IN ('off', 'observe', 'enforce')),
  state text NOT NULL CHECK (state IN ('unmeasured', 'ok', 'warn', 'restricted', 'suspended')),
  score double precision NOT NULL CHECK (score BETWEEN 0 AND 1),
  interactions bigint NOT NULL CHECK (interactions >= 0),
  reason text NOT NULL CHECK (length(reason) <= 500),
  read_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- Authorizations of regulated actions, each by a reference, a hash or a contract.
CREATE TABLE federation_authorization (
  id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
  action text NOT NULL CHECK (action IN ('exchange.listing', 'exchange.ipo', 'fiat.lane', 'registry.operation')),
  authority text NOT NULL CHECK (length(authority) BETWEEN 1 AND 256),
  subject text NOT NULL CHECK (length(subject) BETWEEN 1 AND 512),
  tier text NOT NULL CHECK (tier IN ('reference', 'hash', 'contract')),
  reference text CHECK (length(reference) BETWEEN 1 AND 1000),
  sha256 bytea CHECK (octet_length(sha256) = 32),
  contract_id bigint CHECK (contract_id > 0),
  -- Digest of the contract's immutable subset at the time of recording.
  contract_digest bytea CHECK (octet_length(contract_digest) = 32),
  valid_until timestamptz,
  recorded_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  withdrawn_at timestamptz CHECK (withdrawn_at >= recorded_at),
  CHECK (tier <> 'reference' OR reference IS NOT NULL),
  CHECK ((tier = 'hash') = (sha256 IS NOT NULL)),
  CHECK ((tier = 'contract') = (contract_id IS NOT NULL)),
  CHECK ((contract_id IS NULL) = (contract_digest IS NULL))
);
CREATE INDEX federation_authorization_covering ON federation_authorization (action, subject) WHERE withdrawn_at IS NULL;
CREATE INDEX federation_authorization_referencing ON federation_authorization (contract_id)
  WHERE withdrawn_at IS NULL AND contract_id IS NOT NULL;

-- Certificates of an operator registry, of `/registry/<name>` and `/operator/<name>`; a frame, which issues its own, has none. The
-- requested key is that of a pending request: a repeat asks for a certificate of the same key.
CREATE TABLE federation_identity (
  kind text PRIMARY KEY CHECK (kind IN ('registry', 'operator')),
  certificate text,
  sealed_key bytea,
  begins_at timestamptz,
  expires_at timestamptz,
  sealed_requested_key bytea,
  CHECK ((certificate IS NULL) = (sealed_key IS NULL) AND (certificate IS NULL) = (begins_at IS NULL)
    AND (certificate IS NULL) = (expires_at IS NULL)),
  CHECK (certificate IS NOT NULL OR sealed_requested_key IS NOT NULL),
  CHECK (begins_at < expires_at)
);

-- Claims on DIDs of this trust domain: the registry that holds each.
CREATE TABLE federation_did_claim (
  -- SHA-256 of the DID.
  digest bytea PRIMARY KEY CHECK (octet_length(digest) = 32),
  -- SPIFFE id of the other registry that holds the DID; null: this registry.
  holder text CHECK (length(holder) <= 512),
  state text NOT NULL DEFAULT 'held' CHECK (state IN ('waiting', 'held', 'refused')),
  claimed_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- The claim of another registry is either held or deleted.
  CHECK (holder IS NULL OR state = 'held')
);
CREATE INDEX federation_did_claim_waiting ON federation_did_claim (claimed_at) WHERE state = 'waiting';
CREATE INDEX federation_did_claim_own ON federation_did_claim (claimed_at, digest) WHERE holder IS NULL AND state = 'held';

-- Licence that an operator registry holds of its frame, as the frame stated it last.
CREATE TABLE federation_held_operator_licence (
  is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
  certificate text NOT NULL CHECK (length(certificate) <= 16384),
  hash text NOT NULL,
  -- State as this registry evaluates it; `reason` is empty while the licence is active.
  state text NOT NULL
    CHECK (state IN ('active', 'suspended', 'revoked', 'superseded', 'expired', 'unverified', 'untrusted_root', 'malformed')),
  reason text NOT NULL CHECK (length(reason) <= 1000),
  plan text NOT NULL,
  frame text NOT NULL,
  expires_at timestamptz,
  changed_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- Number of DIDs of this trust domain that each operator registry has claimed at this frame.
CREATE TABLE federation_did_holder (
  -- SPIFFE id of the registry.
  holder text PRIMARY KEY CHECK (length(holder) <= 512),
  claims bigint NOT NULL CHECK (claims >= 0)
);
