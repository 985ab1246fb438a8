"""Catalogue: availability of own agents as peers measured and signed it, and how far the own statements were sent to peers."""

from alembic import op

revision = "2026120176"
down_revision = "2026120175"


def upgrade() -> None:
    op.execute("""
        -- Hours of an own agent that a peer measured on a day: the first statement of a peer about a day stays.
        CREATE TABLE catalogue_peer_availability (
          did text NOT NULL CHECK (length(did) BETWEEN 10 AND 512),
          day date NOT NULL,
          registry text NOT NULL CHECK (length(registry) BETWEEN 1 AND 512),
          counts smallint[] NOT NULL CHECK (cardinality(counts) = 144 AND 0 <= ALL (counts)),
          statement text NOT NULL CHECK (length(statement) <= 4096),
          place int NOT NULL CHECK (place >= 0),
          hashes bytea NOT NULL CHECK (length(hashes) % 32 = 0),
          received_at timestamptz NOT NULL DEFAULT now(),
          PRIMARY KEY (did, day, registry)
        )
    """)
    op.execute("CREATE INDEX catalogue_peer_availability_day ON catalogue_peer_availability (day)")
    op.execute("""
        -- Day whose statement a peer has with the hours of all its agents.
        CREATE TABLE catalogue_availability_sent (
          peer_id bigint PRIMARY KEY,
          day date NOT NULL
        )
    """)
