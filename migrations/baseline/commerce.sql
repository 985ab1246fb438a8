-- Commerce: payment tokens, contracts, disputes, settlements of slashes with peers.

-- Single-use payment tokens, of which the SHA-256 is stored. An authorized token has one of the 20 slots of its caller, so that no caller
-- has more unused ones. A reserved token has a hold in the ledger.
CREATE TABLE commerce_payment_token (
  id uuid PRIMARY KEY,
  token_sha256 bytea NOT NULL UNIQUE CHECK (octet_length(token_sha256) = 32),
  caller text NOT NULL,
  payee text NOT NULL,
  amount bigint NOT NULL CHECK (amount > 0),
  slot smallint CHECK (slot BETWEEN 1 AND 20),
  status text NOT NULL DEFAULT 'authorized'
    CHECK (status IN ('authorized', 'consumed', 'settling', 'settled', 'released', 'expired', 'failed')),
  capture_by text NOT NULL DEFAULT 'caller' CHECK (capture_by IN ('caller', 'payee')),
  is_reserved boolean NOT NULL DEFAULT false,
  hold_id bigint,
  -- Fee of a firm quote; null: the current fee, or the one that the hold fixed.
  fixed_fee bigint CHECK (fixed_fee >= 0),
  quote_id uuid,
  contract_id bigint,
  resource text CHECK (length(resource) BETWEEN 1 AND 512),
  request_digest text CHECK (request_digest ~ '^sha256:[0-9a-f]{64}$'),
  -- Limits of the caller against which the token was counted when it was authorized.
  is_counted boolean NOT NULL DEFAULT false,
  capability_id uuid,
  use_id text CHECK (length(use_id) BETWEEN 1 AND 256),
  consumed_at timestamptz,
  task_id text CHECK (length(task_id) <= 1024),
  capture_amount bigint CHECK (capture_amount > 0),
  settling_at timestamptz,
  tx_id bigint,
  fee bigint CHECK (fee >= 0),
  counts boolean,
  reason text CHECK (length(reason) BETWEEN 1 AND 64),
  created_at timestamptz NOT NULL DEFAULT now(),
  expires_at timestamptz NOT NULL,
  ended_at timestamptz,
  -- The units left by the transfer that has the id of the token; `tx_id` is the movement out of its caller's account.
  crossed boolean NOT NULL DEFAULT false,
  -- The registry settles a bought token by the response of the service; a purchase reserves its amount.
  is_bought boolean NOT NULL DEFAULT false,
  CHECK (caller <> payee),
  CHECK (capture_by = 'caller' OR is_reserved),
  CHECK (hold_id IS NULL OR is_reserved),
  CHECK (capture_amount <= amount),
  CHECK (expires_at > created_at),
  CHECK (status <> 'consumed' OR consumed_at IS NOT NULL),
  CHECK (status NOT IN ('settling', 'settled', 'failed') OR settling_at IS NOT NULL),
  CHECK ((status = 'settled') = (tx_id IS NOT NULL)),
  CHECK ((status = 'settled') = (fee IS NOT NULL)),
  CHECK ((status = 'settled') = (counts IS NOT NULL)),
  CHECK ((status = 'failed') = (reason IS NOT NULL)),
  CHECK ((status IN ('settled', 'released', 'expired', 'failed')) = (ended_at IS NOT NULL)),
  CONSTRAINT commerce_payment_token_crossed CHECK (NOT crossed OR status = 'settled' AND NOT is_reserved),
  CONSTRAINT commerce_payment_token_bought CHECK (NOT is_bought OR is_reserved AND capture_by = 'caller')
) WITH (fillfactor = 80);
CREATE UNIQUE INDEX commerce_payment_token_slot ON commerce_payment_token (caller, slot) WHERE status = 'authorized';
CREATE UNIQUE INDEX commerce_payment_token_quote ON commerce_payment_token (quote_id) WHERE quote_id IS NOT NULL;
CREATE UNIQUE INDEX commerce_payment_token_transaction ON commerce_payment_token (tx_id) WHERE tx_id IS NOT NULL;
CREATE INDEX commerce_payment_token_of_caller ON commerce_payment_token (caller, created_at DESC, id DESC);
CREATE INDEX commerce_payment_token_of_payee ON commerce_payment_token (payee, created_at DESC, id DESC);
CREATE INDEX commerce_payment_token_due ON commerce_payment_token (expires_at) WHERE status IN ('authorized', 'consumed');
CREATE INDEX commerce_payment_token_settling ON commerce_payment_token (settling_at) WHERE status = 'settling';

-- Agreements of two agents. An act locks the row, and is decided by the clock read after that lock.
CREATE TABLE commerce_contract (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  version smallint NOT NULL CHECK (version IN (1, 2)),
  title text NOT NULL CHECK (length(title) BETWEEN 1 AND 200),
  contract_type text NOT NULL CHECK (length(contract_type) BETWEEN 1 AND 40),
  amount bigint NOT NULL CHECK (amount > 0),
  currency text NOT NULL,
  contractor_did text NOT NULL CHECK (length(contractor_did) <= 512),
  -- Null in an open proposal: the first to accept becomes the provider.
  provider_did text CHECK (length(provider_did) <= 512 AND provider_did <> contractor_did),
  terms jsonb NOT NULL,
  acceptance_criteria jsonb NOT NULL,
  submit_by timestamptz,
  review_by timestamptz,
  auto_approve boolean NOT NULL,
  funded boolean NOT NULL,
  status text NOT NULL
    CHECK (status IN ('PROPOSED', 'ACCEPTED', 'SUBMITTED', 'COMPLETED', 'FAILED', 'CANCELLED', 'EXPIRED', 'DISPUTED', 'CLOSED')),
  ended_because text CHECK (ended_because IN ('approved', 'cancelled', 'proposal_expired', 'not_submitted', 'rejected', 'not_reviewed',
    'party_revoked', 'ruling')),
  expires_at timestamptz NOT NULL,
  -- Begin of the current turn of the work, or of its milestone.
  turn_at timestamptz,
  -- Deadline that applies; null where none does.
  due_at timestamptz,
  -- Reasons for which deadlines do not run, each with its begin.
  stops text[] NOT NULL DEFAULT '{}',
  stopped_at timestamptz,
  amount_paid bigint NOT NULL DEFAULT 0 CHECK (amount_paid BETWEEN 0 AND amount),
  fee_paid bigint NOT NULL DEFAULT 0 CHECK (fee_paid >= 0),
  payment_tx_id bigint,
  hold_id bigint UNIQUE,
  hold_release_at timestamptz,
  dispute_id bigint,
  submissions integer NOT NULL DEFAULT 0,
  created_at timestamptz NOT NULL,
  accepted_at timestamptz,
  submitted_at timestamptz,
  completed_at timestamptz,
  ended_at timestamptz,
  -- `payment_transfer` is the transfer that paid, where units went to another registry. `crossing` is the pending transfer of the submitted
  -- part: no act moves the contract before it is decided.
  payment_transfer uuid,
  crossing uuid,
  is_across boolean NOT NULL DEFAULT false,
  provider_registry text,
  provider_bond bigint CHECK (provider_bond >= 0),
  provider_jobs integer CHECK (provider_jobs >= 0),
  CHECK (NOT (funded OR auto_approve) OR review_by IS NOT NULL),
  CHECK (status IN ('PROPOSED', 'CANCELLED', 'EXPIRED') OR provider_did IS NOT NULL),
  CHECK (status IN ('PROPOSED', 'CANCELLED', 'EXPIRED') OR (hold_id IS NOT NULL) = funded),
  CHECK ((status IN ('COMPLETED', 'FAILED', 'CANCELLED', 'EXPIRED', 'CLOSED')) <= (ended_because IS NOT NULL)),
  CHECK (status <> 'COMPLETED' OR amount_paid = amount),
  CHECK ((stops = '{}') = (stopped_at IS NULL)),
  CHECK (stops = '{}' OR due_at IS NULL),
  CONSTRAINT commerce_contract_crossing CHECK (crossing IS NULL OR status = 'SUBMITTED' AND hold_id IS NULL),
  CHECK (provider_registry IS NULL OR is_across)
) WITH (fillfactor = 70);
CREATE INDEX commerce_contract_of_contractor ON commerce_contract (contractor_did, id);
CREATE INDEX commerce_contract_of_provider ON commerce_contract (provider_did, id);
CREATE INDEX commerce_contract_proposals ON commerce_contract (contractor_did) WHERE status = 'PROPOSED';
CREATE INDEX commerce_contract_offered ON commerce_contract (id) WHERE status = 'PROPOSED' AND provider_did IS NULL;
CREATE INDEX commerce_contract_public ON commerce_contract (id) WHERE contract_type = 'attestation';
-- Contract that a transaction paid.
CREATE INDEX commerce_contract_payment ON commerce_contract (payment_tx_id) WHERE payment_tx_id IS NOT NULL;
CREATE UNIQUE INDEX commerce_contract_paying ON commerce_contract (crossing) WHERE crossing IS NOT NULL;
CREATE INDEX commerce_contract_attestations_of_contractor ON commerce_contract (contractor_did, id) WHERE contract_type = 'attestation';
CREATE INDEX commerce_contract_attestations_of_provider ON commerce_contract (provider_did, id) WHERE contract_type = 'attestation';
CREATE INDEX commerce_contract_open_accepted ON commerce_contract (provider_did)
  WHERE provider_bond IS NOT NULL OR provider_jobs IS NOT NULL;

-- Parts of a contract.
CREATE TABLE commerce_contract_milestone (
  contract_id bigint NOT NULL REFERENCES commerce_contract,
  index smallint NOT NULL CHECK (index >= 0),
  title text NOT NULL CHECK (length(title) BETWEEN 1 AND 200),
  amount bigint NOT NULL CHECK (amount > 0),
  due timestamptz,
  state text NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'submitted', 'approved', 'released')),
  payment_tx_id bigint,
  submitted_at timestamptz,
  payment_transfer uuid,
  PRIMARY KEY (contract_id, index),
  CHECK ((state = 'approved') = (payment_tx_id IS NOT NULL))
);
CREATE INDEX commerce_contract_milestone_payment ON commerce_contract_milestone (payment_tx_id) WHERE payment_tx_id IS NOT NULL;

-- Every transition of a contract; the registry made those without an actor.
CREATE TABLE commerce_contract_history (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  contract_id bigint NOT NULL REFERENCES commerce_contract,
  act text NOT NULL,
  actor_did text,
  milestone smallint,
  note text CHECK (length(note) <= 2000),
  deliverable jsonb,
  at timestamptz NOT NULL
);
CREATE INDEX commerce_contract_history_of ON commerce_contract_history (contract_id, id);

-- Used nonces of each address, for ever. The wallet signed `digest` (EIP-712), and the token paid it.
CREATE TABLE commerce_x402_authorization (
  address bytea NOT NULL CHECK (octet_length(address) = 20),
  nonce bytea NOT NULL CHECK (octet_length(nonce) = 32),
  digest bytea NOT NULL CHECK (octet_length(digest) = 32),
  token_id uuid NOT NULL UNIQUE REFERENCES commerce_payment_token,
  settled_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (address, nonce)
);

-- Complaints of one agent about another. `payment` names the disputed payment (`contract:1`, `token:<uuid>`, `transaction:1`); an agent
-- complains once about each payment. The row of the contract is locked before that of the dispute.
CREATE TABLE commerce_dispute (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  complainant_did text NOT NULL CHECK (length(complainant_did) <= 512),
  defendant_did text NOT NULL CHECK (length(defendant_did) <= 512 AND defendant_did <> complainant_did),
  payment text CHECK (length(payment) <= 64),
  contract_id bigint REFERENCES commerce_contract,
  token_id uuid REFERENCES commerce_payment_token,
  tx_id bigint,
  -- State to which the contract returns when the dispute is dismissed.
  contract_status text CHECK (contract_status IN ('ACCEPTED', 'SUBMITTED', 'FAILED', 'COMPLETED', 'CLOSED')),
  -- Payer of the payment, and its value.
  payer_did text CHECK (payer_did IN (complainant_did, defendant_did)),
  subject_amount bigint CHECK (subject_amount > 0),
  fee_paid bigint NOT NULL DEFAULT 0 CHECK (fee_paid >= 0),
  is_malpractice boolean NOT NULL,
  reason_code text NOT NULL CHECK (reason_code IN ('UNFAIR_FEE', 'SERVICE_NOT_DELIVERED', 'POOR_QUALITY', 'CONTRACT_VIOLATION', 'OTHER')),
  description text NOT NULL CHECK (length(description) BETWEEN 1 AND 2000),
  claimed_amount bigint CHECK (claimed_amount > 0),
  attestation_ids text[] NOT NULL DEFAULT '{}',
  status text NOT NULL CHECK (status IN ('OPEN', 'VOTING', 'CLOSED')),
  ruling text CHECK (ruling IN ('IN_FAVOR_OF_COMPLAINANT', 'IN_FAVOR_OF_DEFENDANT', 'DISMISSED')),
  compensation_amount bigint NOT NULL DEFAULT 0 CHECK (compensation_amount >= 0),
  slash_requested bigint NOT NULL DEFAULT 0 CHECK (slash_requested >= 0),
  slash_applied bigint NOT NULL DEFAULT 0 CHECK (slash_applied BETWEEN 0 AND slash_requested),
  note text CHECK (length(note) BETWEEN 1 AND 2000),
  -- Administrator who ruled; null where nobody did in time.
  ruled_by bigint,
  opened_at timestamptz NOT NULL,
  evidence_until timestamptz NOT NULL CHECK (evidence_until >= opened_at),
  rule_by timestamptz NOT NULL CHECK (rule_by >= evidence_until),
  voting_at timestamptz,
  closed_at timestamptz,
  -- `subject_amount` is the agreed amount; a ruling compensates at most the paid or held one.
  paid_amount bigint CHECK (paid_amount >= 0),
  held_amount bigint CHECK (held_amount >= 0),
  award_amount bigint NOT NULL DEFAULT 0 CHECK (award_amount BETWEEN 0 AND compensation_amount),
  award_status text CHECK (award_status IN ('PENDING', 'APPROVED', 'REJECTED')),
  award_decided_by bigint CHECK (award_decided_by <> ruled_by),
  award_decided_at timestamptz,
  award_reason text CHECK (length(award_reason) BETWEEN 1 AND 500),
  -- Units of a bond that the open dispute keeps; zero where it blocks neither a bond nor the end of a party.
  blocked_amount bigint NOT NULL DEFAULT 0 CHECK (blocked_amount >= 0),
  deposit_amount bigint NOT NULL DEFAULT 0 CHECK (deposit_amount >= 0),
  deposit_hold_id bigint CHECK ((deposit_hold_id IS NULL) = (deposit_amount = 0)),
  UNIQUE (complainant_did, payment),
  CHECK ((payment IS NULL) = (subject_amount IS NULL) AND (payment IS NULL) = (payer_did IS NULL)),
  CHECK ((contract_id IS NULL) = (contract_status IS NULL)),
  CHECK (payment IS NOT NULL OR contract_id IS NULL AND token_id IS NULL AND tx_id IS NULL),
  CHECK (payment IS NOT NULL OR compensation_amount = 0),
  CHECK (ruling = 'IN_FAVOR_OF_COMPLAINANT' OR compensation_amount = 0 AND slash_requested = 0),
  CHECK ((status = 'CLOSED') = (ruling IS NOT NULL) AND (status = 'CLOSED') = (closed_at IS NOT NULL)),
  CHECK ((status = 'OPEN') = (voting_at IS NULL)),
  CHECK ((award_status IS NULL) = (award_amount = 0)),
  CHECK (coalesce(award_status IN ('APPROVED', 'REJECTED'), false) = (award_decided_by IS NOT NULL)
    AND (award_decided_by IS NULL) = (award_decided_at IS NULL))
) WITH (fillfactor = 80);
-- A contract has at most one dispute at a time.
CREATE UNIQUE INDEX commerce_dispute_of_contract ON commerce_dispute (contract_id) WHERE status <> 'CLOSED';
CREATE INDEX commerce_dispute_of_payment ON commerce_dispute (payment) WHERE payment IS NOT NULL;
CREATE INDEX commerce_dispute_of_complainant ON commerce_dispute (complainant_did, id);
CREATE INDEX commerce_dispute_of_defendant ON commerce_dispute (defendant_did, id);
CREATE INDEX commerce_dispute_award ON commerce_dispute (award_status, id) WHERE award_status IS NOT NULL;

-- Evidence of the parties.
CREATE TABLE commerce_dispute_evidence (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  dispute_id bigint NOT NULL REFERENCES commerce_dispute,
  by_did text NOT NULL,
  uri text CHECK (length(uri) <= 2048),
  sha256 text NOT NULL CHECK (sha256 ~ '^[0-9a-f]{64}$'),
  note text CHECK (length(note) <= 2000),
  at timestamptz NOT NULL
);
CREATE INDEX commerce_dispute_evidence_of ON commerce_dispute_evidence (dispute_id, id);

-- Settlements of slashes with peers. `outgoing`: an agent of the peer lost a dispute that was decided here. `incoming`: an agent here lost
-- one decided there.
CREATE TABLE commerce_settlement (
  settlement_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  direction text NOT NULL CHECK (direction IN ('incoming', 'outgoing', 'awarded', 'owed')),
  peer text NOT NULL CHECK (starts_with(peer, 'spiffe://')),
  frame text NOT NULL,
  -- Number of the dispute at the registry that decided it.
  dispute_id bigint NOT NULL CHECK (dispute_id > 0),
  defendant_did text NOT NULL CHECK (length(defendant_did) <= 512),
  complainant_did text NOT NULL CHECK (length(complainant_did) <= 512),
  -- Amount in the unit of the defendant's registry.
  amount bigint NOT NULL CHECK (amount > 0),
  currency text NOT NULL,
  status text NOT NULL CHECK (status IN ('PENDING_SLASH', 'SLASHING', 'SLASHED', 'SETTLED', 'FAILED', 'EXPIRED')),
  auto_approved boolean NOT NULL DEFAULT false,
  slashed_amount bigint NOT NULL DEFAULT 0 CHECK (slashed_amount BETWEEN 0 AND amount),
  -- Ruled and issued compensation of the complainant, in the unit of its registry.
  compensation bigint NOT NULL DEFAULT 0 CHECK (compensation >= 0),
  compensated bigint NOT NULL DEFAULT 0,
  tx_id bigint,
  peer_tx_id text,
  reason text CHECK (length(reason) <= 500),
  -- Facts of the dispute with the signature of the registry that decided it, and the last signed outcome of the peer.
  verdict text,
  outcome text,
  is_closed boolean NOT NULL DEFAULT false,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  expires_at timestamptz NOT NULL,
  decided_at timestamptz,
  next_at timestamptz,
  tries integer NOT NULL DEFAULT 0,
  rate_own numeric NOT NULL CHECK (rate_own > 0),
  rate_foreign numeric NOT NULL CHECK (rate_foreign > 0),
  -- Compact JWS of the peer for which this registry slashed or issued units. It has the facts of the dispute; where it is null, `verdict`
  -- has them.
  message text,
  -- Time since which the registry of the defendant cannot destroy the compensated units; shown at both registries.
  uncollected_since timestamptz,
  -- Reason why an administrator ended the claim: nothing more is requested.
  written_off_reason text CHECK (length(written_off_reason) <= 500),
  -- Name of the payment at the registry that decided the dispute, as it states it to the other one.
  payment text CHECK (length(payment) BETWEEN 1 AND 200),
  CHECK (status NOT IN ('SLASHED', 'SETTLED') OR slashed_amount > 0),
  UNIQUE (peer, direction, dispute_id),
  -- Units of the defendant's registry, at the rate of the ruling, rounded down.
  CHECK (compensated BETWEEN 0 AND least(compensation, div(slashed_amount * rate_own, rate_foreign))),
  CONSTRAINT commerce_settlement_written_off CHECK (written_off_reason IS NULL OR direction IN ('outgoing', 'owed') AND is_closed
    AND next_at IS NULL AND uncollected_since IS NOT NULL)
);
CREATE INDEX commerce_settlement_due ON commerce_settlement (next_at) WHERE next_at IS NOT NULL;
CREATE INDEX commerce_settlement_pending ON commerce_settlement (expires_at) WHERE status = 'PENDING_SLASH';
CREATE INDEX commerce_settlement_approved ON commerce_settlement (peer, decided_at) WHERE auto_approved;
-- A complainant is compensated once for a payment, regardless of the number of its dispute.
CREATE UNIQUE INDEX commerce_settlement_awarded ON commerce_settlement (peer, complainant_did, payment) WHERE direction = 'awarded';
CREATE UNIQUE INDEX commerce_settlement_owed ON commerce_settlement (peer, complainant_did, payment)
  WHERE direction = 'owed' AND status = 'SETTLED';
CREATE INDEX commerce_settlement_incoming ON commerce_settlement (peer, complainant_did, payment) WHERE direction = 'incoming';
-- Slashes that a peer is applying and has not confirmed in 24 hours.
CREATE INDEX commerce_settlement_slashing ON commerce_settlement (expires_at) WHERE status = 'SLASHING' AND direction = 'outgoing';

-- Copies of contracts of other registries, at the registry of the provider. `document` is the contract as its registry stated it last, null
-- before the first statement; `accepting_since` is the time at which an acceptance without a known outcome was relayed; `is_relayed`: the
-- provider acted through this registry.
CREATE TABLE commerce_contract_copy (
  peer text NOT NULL,
  contract_id bigint NOT NULL CHECK (contract_id > 0),
  provider_did text NOT NULL,
  frame text NOT NULL,
  contractor_did text,
  status text,
  created_at timestamptz,
  document text,
  is_relayed boolean NOT NULL DEFAULT false,
  accepting_since timestamptz,
  PRIMARY KEY (peer, contract_id, provider_did),
  CHECK (num_nulls(contractor_did, status, created_at, document) IN (0, 4)),
  CHECK (document IS NOT NULL OR accepting_since IS NOT NULL)
);
CREATE INDEX commerce_contract_copy_of_provider ON commerce_contract_copy (provider_did, created_at DESC);

-- Transfers that pay a contract, also after an ABORT: a COMMIT that comes to light after a restore is binding, and approves the part.
CREATE TABLE commerce_contract_transfer (
  transfer_id uuid PRIMARY KEY,
  contract_id bigint NOT NULL REFERENCES commerce_contract (id),
  milestone smallint,
  -- Ledger transaction by which the units left; null as long as the contract owes what the transfer pays.
  surplus_tx_id bigint
);
CREATE INDEX commerce_contract_transfer_surplus ON commerce_contract_transfer (contract_id) WHERE surplus_tx_id IS NOT NULL;
CREATE INDEX commerce_contract_transfer_surplus_tx ON commerce_contract_transfer (surplus_tx_id) WHERE surplus_tx_id IS NOT NULL;

-- Payments on which slashes of peers rest, each once.
CREATE TABLE commerce_slashed_payment (
  peer text NOT NULL,
  transfer_id uuid NOT NULL,
  settlement_id bigint NOT NULL REFERENCES commerce_settlement,
  PRIMARY KEY (peer, transfer_id)
);

-- Firm quotes that are neither used nor over, each in one of the 100 slots of its caller.
CREATE TABLE commerce_firm_quote (
  caller text NOT NULL,
  slot smallint NOT NULL CHECK (slot BETWEEN 1 AND 100),
  quote_id uuid NOT NULL,
  expires_at timestamptz NOT NULL,
  PRIMARY KEY (caller, slot)
);
