"""Auditor: its signing keys, and the chain of supply attestations."""

from alembic import op

revision = "0050"
down_revision = "0048"

SQL = """
-- What the typed events of issuing and destroying add up to in the snapshot of a verdict; null in older verdicts.
ALTER TABLE auditor_verdict ADD COLUMN typed_issued numeric, ADD COLUMN typed_destroyed numeric,
  ADD CHECK ((typed_issued IS NULL) = (typed_destroyed IS NULL));

-- Every key that ever signed an attestation. The id of a key is derived from it, so that no id gets a second key.
CREATE TABLE auditor_key (
  kid text PRIMARY KEY,
  public_key bytea NOT NULL UNIQUE CHECK (octet_length(public_key) = 32),
  sealed_key bytea,
  valid_from timestamptz NOT NULL,
  retired_at timestamptz CHECK (retired_at > valid_from),
  -- The last attestation before the retirement: later ones under this key are invalid.
  retired_at_id bigint CHECK (retired_at_id >= 0),
  CHECK (kid = left(encode(sha256(public_key), 'hex'), 16)),
  CHECK ((retired_at IS NULL) = (retired_at_id IS NULL)),
  CHECK (retired_at IS NOT NULL OR sealed_key IS NOT NULL)
);
CREATE UNIQUE INDEX auditor_key_current ON auditor_key ((true)) WHERE retired_at IS NULL;

-- The head of each chain: appending locks its row. Amounts in minor units.
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
"""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(SQL)
