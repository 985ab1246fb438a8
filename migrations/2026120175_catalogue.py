"""Catalogue: probes of agents by day and hour, and the signed trees of closed days."""

from alembic import op

revision = "2026120175"
down_revision = "2026120168"


def upgrade() -> None:
    op.execute("""
        -- Probes of an agent on one day (UTC): for each hour the probes and, by the five classes of time, the answers.
        CREATE TABLE catalogue_probe_day (
          day date NOT NULL,
          did text NOT NULL CHECK (length(did) BETWEEN 10 AND 512),
          counts smallint[] NOT NULL CHECK (cardinality(counts) = 144 AND 0 <= ALL (counts)),
          -- Place in the tree of the closed day: the counts never change any more.
          place int CHECK (place >= 0),
          PRIMARY KEY (day, did)
        ) WITH (fillfactor = 85)
    """)
    op.execute("""
        -- Closed day: the signed statement, and the hashes of its tree level by level, the leaves first.
        CREATE TABLE catalogue_availability_day (
          day date PRIMARY KEY,
          agents int NOT NULL CHECK (agents > 0),
          statement text NOT NULL,
          hashes bytea NOT NULL CHECK (length(hashes) % 32 = 0),
          closed_at timestamptz NOT NULL DEFAULT now()
        )
    """)
    # A path is read by slices of the hashes, which needs them uncompressed.
    op.execute("ALTER TABLE catalogue_availability_day ALTER COLUMN hashes SET STORAGE EXTERNAL")
