"""Auditor: the tiled log of everything that the registry publishes and might deny, and the outbox that fills it."""

from alembic import op

revision = "0051"
down_revision = "0050"

SQL = """
-- What is to become a leaf: written in the transaction of its cause, taken out by the sequencer of the log.
CREATE TABLE plumbing_log_outbox (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  kind text NOT NULL CHECK (kind ~ '^[a-z_]{1,40}$'),
  object_id text NOT NULL CHECK (octet_length(object_id) BETWEEN 1 AND 512),
  sha256 bytea NOT NULL CHECK (octet_length(sha256) = 32),
  at timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- One row: how many leaves the log has. The sequencer locks it.
CREATE TABLE auditor_log (
  is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
  size bigint NOT NULL DEFAULT 0 CHECK (size >= 0)
);
INSERT INTO auditor_log DEFAULT VALUES;

CREATE TABLE auditor_log_leaf (
  index bigint PRIMARY KEY CHECK (index >= 0),
  kind text NOT NULL,
  object_id text NOT NULL,
  entry bytea NOT NULL CHECK (octet_length(entry) BETWEEN 1 AND 1024)
);
CREATE INDEX auditor_log_leaf_object ON auditor_log_leaf (kind, object_id, index);

-- The hash of every complete subtree: level 0 are the leaves.
CREATE TABLE auditor_log_node (
  level smallint NOT NULL CHECK (level BETWEEN 0 AND 62),
  index bigint NOT NULL CHECK (index >= 0),
  hash bytea NOT NULL CHECK (octet_length(hash) = 32),
  PRIMARY KEY (level, index)
);

-- The newest checkpoint of each size, as it is served.
CREATE TABLE auditor_log_checkpoint (
  size bigint PRIMARY KEY CHECK (size >= 0),
  note text NOT NULL,
  signed_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- What was there before the log.
INSERT INTO plumbing_log_outbox (kind, object_id, sha256)
  SELECT 'registry_key', registry_id || '#' || sequence, sha256(public_key) FROM federation_registry_key ORDER BY sequence;
INSERT INTO plumbing_log_outbox (kind, object_id, sha256) SELECT 'auditor_key', kid, sha256(public_key) FROM auditor_key;
INSERT INTO plumbing_log_outbox (kind, object_id, sha256)
  SELECT 'attestation', id::text, decode(digest, 'hex') FROM auditor_attestation ORDER BY id;
"""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(SQL)
