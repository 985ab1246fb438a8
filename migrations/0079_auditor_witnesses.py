"""Auditor: logs that this registry cosigns, and the witnesses of its own log."""

from alembic import op

revision = "0079"
down_revision = "0078"

SQL = """
-- The key of this registry as a witness; it signs nothing else.
CREATE TABLE auditor_witness_key (
  is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
  public_key bytea NOT NULL CHECK (octet_length(public_key) = 32),
  sealed_key bytea NOT NULL
);

-- The newest checkpoint of each log that was cosigned. A size never falls.
CREATE TABLE auditor_witnessed_log (
  origin text PRIMARY KEY CHECK (length(origin) BETWEEN 1 AND 255),
  size bigint NOT NULL CHECK (size >= 0),
  root bytea NOT NULL CHECK (octet_length(root) = 32),
  note text NOT NULL,
  cosigned_at timestamptz NOT NULL
);

-- What each witness of the own log cosigned last, and how the last request to it ended.
CREATE TABLE auditor_log_witness (
  name text PRIMARY KEY CHECK (length(name) BETWEEN 1 AND 255),
  known_size bigint NOT NULL DEFAULT 0 CHECK (known_size >= 0),
  size bigint CHECK (size >= 0),
  line text,
  cosigned_at timestamptz,
  asked_at timestamptz NOT NULL,
  trouble text CHECK (length(trouble) <= 500),
  CHECK ((size IS NULL) = (line IS NULL) AND (size IS NULL) = (cosigned_at IS NULL))
);
"""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(SQL)
