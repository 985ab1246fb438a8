-- Auditor: balances recomputed from the journal, verdicts, the signed chain, the tiled log and its witnesses, liabilities.

-- One row: the sums of all ledger events of transactions before `position`. Amounts in minor units, exact even after tampering: NUMERIC.
CREATE TABLE auditor_checkpoint (
  is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
  -- Transaction ids have a meaning in one database cluster only.
  cluster bigint NOT NULL,
  position bigint NOT NULL CHECK (position >= 0),
  -- Events up to this one carry transaction ids of another cluster and are in the totals already.
  relics_to_seq bigint NOT NULL,
  issued numeric NOT NULL,
  destroyed numeric NOT NULL,
  transit numeric NOT NULL,
  fees_collected numeric NOT NULL,
  circulating numeric NOT NULL,
  unbalanced bigint NOT NULL,
  -- Ledger transactions up to this id were compared with the log; those after it have events from this position on.
  compared_to_tx bigint NOT NULL DEFAULT 0,
  compared_from_position bigint NOT NULL DEFAULT 0,
  -- Values that the two columns above get once every transaction before `seen_before` has ended.
  seen_tx bigint NOT NULL DEFAULT 0,
  seen_position bigint NOT NULL DEFAULT 0,
  seen_before bigint NOT NULL DEFAULT 0,
  kept_at timestamptz NOT NULL DEFAULT now()
);

-- Recomputed balances of accounts at the checkpoint.
CREATE TABLE auditor_folded (
  account text NOT NULL,
  bucket text NOT NULL,
  balance numeric NOT NULL,
  PRIMARY KEY (account, bucket)
) WITH (fillfactor = 70);

-- Results of audits.
CREATE TABLE auditor_verdict (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  checked_at timestamptz NOT NULL DEFAULT now(),
  as_of_seq bigint NOT NULL,
  from_zero boolean NOT NULL,
  status text NOT NULL CHECK (status IN ('OK', 'BREACH')),
  issued numeric NOT NULL,
  destroyed numeric NOT NULL,
  transit numeric NOT NULL,
  fees_collected numeric NOT NULL,
  circulating numeric NOT NULL,
  delta numeric NOT NULL,
  agent_count bigint NOT NULL,
  checks jsonb NOT NULL,
  -- Accounts, positions and transactions that differ, the first of each kind, in minor units.
  findings jsonb NOT NULL,
  -- Digest that is equal for equal breaches; null without one.
  breach_digest text CHECK ((breach_digest IS NULL) = (status = 'OK')),
  -- Sums of the typed events of issuing and destroying in the snapshot of the verdict; null in older verdicts.
  typed_issued numeric,
  typed_destroyed numeric,
  -- Root of the liability tree; null in older verdicts, and where no tree adds up to the circulating units.
  liabilities_root bytea CHECK (octet_length(liabilities_root) = 32),
  liabilities_accounts bigint CHECK (liabilities_accounts >= 0),
  CHECK ((typed_issued IS NULL) = (typed_destroyed IS NULL)),
  CHECK ((liabilities_root IS NULL) = (liabilities_accounts IS NULL))
);

-- Every key that signed an attestation. The id of a key is derived from it, so that no id gets a second key.
CREATE TABLE auditor_key (
  kid text PRIMARY KEY,
  public_key bytea NOT NULL UNIQUE CHECK (octet_length(public_key) = 32),
  sealed_key bytea,
  valid_from timestamptz NOT NULL,
  retired_at timestamptz CHECK (retired_at > valid_from),
  -- Last attestation before the retirement: later ones under this key are invalid.
  retired_at_id bigint CHECK (retired_at_id >= 0),
  -- Size of the log at the retirement: the leaf of the next key is beyond it, and that key signs larger checkpoints.
  retired_at_size bigint CHECK (retired_at_size >= 0),
  CHECK (kid = left(encode(sha256(public_key), 'hex'), 16)),
  CHECK ((retired_at IS NULL) = (retired_at_id IS NULL)),
  CHECK (retired_at IS NOT NULL OR sealed_key IS NOT NULL),
  CHECK ((retired_at IS NULL) = (retired_at_size IS NULL))
);
CREATE UNIQUE INDEX auditor_key_current ON auditor_key ((true)) WHERE retired_at IS NULL;

-- Head of each chain: appending locks its row. Amounts in minor units.
CREATE TABLE auditor_chain (
  frame text PRIMARY KEY CHECK (frame <> ''),
  head_id bigint NOT NULL DEFAULT 0 CHECK (head_id >= 0),
  head_digest text NOT NULL DEFAULT repeat('0', 64) CHECK (head_digest ~ '^[0-9a-f]{64}$'),
  head_ts timestamptz,
  audited_ts timestamptz,
  audit_row_id bigint NOT NULL DEFAULT 0,
  native_baseline bigint CHECK (native_baseline > 0),
  transit_baseline bigint,
  CHECK ((head_ts IS NULL) = (head_id = 0))
);

-- Signed records of the chain.
CREATE TABLE auditor_attestation (
  id bigint PRIMARY KEY CHECK (id > 0),
  frame text NOT NULL REFERENCES auditor_chain,
  ts timestamptz NOT NULL,
  kind text NOT NULL CHECK (kind IN ('audit', 'baseline_set', 'baseline_removed', 'transit_rebaselined')),
  payload text NOT NULL,
  digest text NOT NULL CHECK (digest = encode(sha256(convert_to(payload, 'UTF8')), 'hex')),
  prev_hash text NOT NULL CHECK (prev_hash ~ '^[0-9a-f]{64}$'),
  signature text NOT NULL CHECK (length(signature) = 86),
  kid text NOT NULL REFERENCES auditor_key,
  audit_row_id bigint UNIQUE,
  UNIQUE (frame, prev_hash),
  CHECK ((kind = 'audit') = (audit_row_id IS NOT NULL))
);
CREATE INDEX auditor_attestation_newest ON auditor_attestation (frame, id);

-- One row: the number of leaves of the log. The sequencer locks it.
CREATE TABLE auditor_log (
  is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
  size bigint NOT NULL DEFAULT 0 CHECK (size >= 0)
);
INSERT INTO auditor_log DEFAULT VALUES;

-- Leaves of the log.
CREATE TABLE auditor_log_leaf (
  index bigint PRIMARY KEY CHECK (index >= 0),
  kind text NOT NULL,
  object_id text NOT NULL,
  entry bytea NOT NULL CHECK (octet_length(entry) BETWEEN 1 AND 1024)
);
CREATE INDEX auditor_log_leaf_object ON auditor_log_leaf (kind, object_id, index);

-- Hash of every complete subtree: the leaves have level 0.
CREATE TABLE auditor_log_node (
  level smallint NOT NULL CHECK (level BETWEEN 0 AND 62),
  index bigint NOT NULL CHECK (index >= 0),
  hash bytea NOT NULL CHECK (octet_length(hash) = 32),
  PRIMARY KEY (level, index)
);

-- Newest checkpoint of each size, as it is served.
CREATE TABLE auditor_log_checkpoint (
  size bigint PRIMARY KEY CHECK (size >= 0),
  note text NOT NULL,
  signed_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- Signature lines of the witnesses; null while too few of them have cosigned.
  cosignatures text[]
);
CREATE INDEX auditor_log_checkpoint_cosigned ON auditor_log_checkpoint (size) WHERE cosignatures IS NOT NULL;

-- One row: the tree of the newest verdict that has one. `blocks` has its lowest public level, 40 bytes for each node.
CREATE TABLE auditor_liability_tree (
  is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
  verdict_id bigint NOT NULL,
  as_of_seq bigint NOT NULL,
  -- The accounts of events from this position on may have changed since; a position means something in one cluster only.
  cluster bigint NOT NULL,
  position bigint NOT NULL,
  relics_to_seq bigint NOT NULL,
  -- Seed of the salts and of the split of each balance.
  secret bytea NOT NULL CHECK (octet_length(secret) = 32),
  placed_at timestamptz NOT NULL,
  accounts bigint NOT NULL CHECK (accounts >= 0),
  blocks bytea NOT NULL CHECK (mod(octet_length(blocks), 40) = 0)
);

-- Keys of this registry as a witness; they sign nothing else. The length names the kind: Ed25519, or ML-DSA-44. One key of each is current.
CREATE TABLE auditor_witness_key (
  public_key bytea NOT NULL CHECK (octet_length(public_key) IN (32, 1312)),
  sealed_key bytea,
  valid_from timestamptz NOT NULL DEFAULT clock_timestamp(),
  retired_at timestamptz CHECK (retired_at >= valid_from),
  PRIMARY KEY (public_key),
  CHECK (sealed_key IS NOT NULL OR retired_at IS NOT NULL)
);
CREATE UNIQUE INDEX auditor_witness_key_current ON auditor_witness_key (octet_length(public_key)) WHERE retired_at IS NULL;

-- Newest cosigned checkpoint of each log. A size never falls.
CREATE TABLE auditor_witnessed_log (
  origin text PRIMARY KEY CHECK (length(origin) BETWEEN 1 AND 255),
  size bigint NOT NULL CHECK (size >= 0),
  root bytea NOT NULL CHECK (octet_length(root) = 32),
  note text NOT NULL,
  cosigned_at timestamptz NOT NULL
);

-- Last cosignature of each witness of the own log, and the outcome of the last request to it.
CREATE TABLE auditor_log_witness (
  name text PRIMARY KEY CHECK (length(name) BETWEEN 1 AND 255),
  known_size bigint NOT NULL DEFAULT 0 CHECK (known_size >= 0),
  size bigint CHECK (size >= 0),
  cosigned_at timestamptz,
  asked_at timestamptz NOT NULL,
  trouble text CHECK (length(trouble) <= 500),
  -- One line for each key of the witness that cosigned.
  lines text[] NOT NULL DEFAULT '{}',
  CHECK ((size IS NULL) = (lines = '{}') AND (size IS NULL) = (cosigned_at IS NULL))
);

-- Last comparison of totals with each peer, in minor units: its statement, and the impossible part of it.
CREATE TABLE auditor_pair (
  ledger_id text PRIMARY KEY,
  stated_out numeric(38) NOT NULL,
  stated_in numeric(38) NOT NULL,
  stated_confirmed numeric(38) NOT NULL,
  surplus numeric(38) NOT NULL CHECK (surplus >= 0),
  deficit numeric(38) NOT NULL CHECK (deficit >= 0),
  compared_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- Time of the own totals that agreed with those of the peer, both signed; null before the first time.
  agreed_at timestamptz,
  -- Entry of the peer's chain up to which the totals agreed, and the total there; differences of the last comparison at an entry, in minor
  -- units.
  base_epoch bigint,
  base_seq bigint,
  base_amount numeric(38),
  exact_surplus numeric(38) NOT NULL DEFAULT 0 CHECK (exact_surplus >= 0),
  exact_deficit numeric(38) NOT NULL DEFAULT 0 CHECK (exact_deficit >= 0)
);

-- Keys of each peer's log and of its witness, read over mutual TLS, in the text form of verifier keys.
CREATE TABLE auditor_peer_log (
  ledger_id text PRIMARY KEY,
  log_keys text[] NOT NULL,
  read_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  witness_keys text[] NOT NULL
);

-- Two checkpoints with the signature of one log, of which neither continues the other. Evidence is never changed.
CREATE TABLE auditor_log_fork (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  origin text NOT NULL CHECK (length(origin) BETWEEN 1 AND 255),
  kind text NOT NULL CHECK (kind IN ('same_size', 'not_consistent')),
  own_note text NOT NULL,
  other_note text NOT NULL,
  -- Registry that was shown the other checkpoint.
  other_witness text NOT NULL,
  found_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  CHECK (own_note <> other_note)
);
CREATE UNIQUE INDEX auditor_log_fork_once ON auditor_log_fork (origin, md5(own_note), md5(other_note));

-- Leaves of each account, by its number in the ledger. `is_late`: the account came after the last placement, and is in no list of members.
CREATE TABLE auditor_liability (
  account_id bigint PRIMARY KEY,
  slot_a integer NOT NULL CHECK (slot_a >= 0 AND mod(slot_a, 2) = 0),
  slot_b integer NOT NULL CHECK (slot_b >= 0 AND mod(slot_b, 2) = 1),
  balance bigint NOT NULL CHECK (balance >= 0),
  is_late boolean NOT NULL DEFAULT false
) WITH (fillfactor = 80);
CREATE UNIQUE INDEX auditor_liability_late_a ON auditor_liability (slot_a) WHERE is_late;
CREATE UNIQUE INDEX auditor_liability_late_b ON auditor_liability (slot_b) WHERE is_late;

-- Accounts at the 4,096 leaves of each block since the last placement, 8 bytes (big-endian) for each, 0 for a free leaf: no leaf belongs to
-- two.
CREATE TABLE auditor_liability_block (
  block integer PRIMARY KEY CHECK (block >= 0),
  members bytea NOT NULL CHECK (octet_length(members) = 8 * 4096)
);
ALTER TABLE auditor_liability_block ALTER COLUMN members SET STORAGE EXTERNAL;

-- Last comparison of the swaps with each peer, by currency, in minor units.
CREATE TABLE auditor_swap_pair (
  ledger_id text NOT NULL,
  currency text NOT NULL,
  stated_in numeric(38) NOT NULL,
  surplus numeric(38) NOT NULL CHECK (surplus >= 0),
  deficit numeric(38) NOT NULL CHECK (deficit >= 0),
  compared_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (ledger_id, currency)
);
