"""Journal: archives of months, and what stays of the months that were dropped.

`tx_ids` and the sums are those of a dropped month, in minor units. `journal_carried` has the movements of all dropped months by bucket,
`journal_carried_place` the last dropped event filed under each DID.
"""

from alembic import op

revision = "2026113004"
down_revision = "2026113003"


def upgrade() -> None:
    op.execute("""
        CREATE TABLE journal_archive (
          month date PRIMARY KEY CHECK (extract(day FROM month) = 1),
          rows bigint NOT NULL CHECK (rows >= 0),
          events bigint NOT NULL CHECK (events >= rows),
          first_sequence bigint NOT NULL,
          last_sequence bigint NOT NULL,
          last_xid bigint NOT NULL,
          last_seq bigint NOT NULL,
          manifest_sha256 bytea NOT NULL CHECK (octet_length(manifest_sha256) = 32),
          kid text NOT NULL,
          archived_at timestamptz NOT NULL DEFAULT now(),
          dropped_at timestamptz,
          transactions bigint,
          issued numeric,
          destroyed numeric,
          transit numeric,
          fees_collected numeric,
          circulating numeric,
          unbalanced bigint,
          typed_issued numeric,
          typed_destroyed numeric,
          tx_ids int8multirange,
          CHECK (num_nulls(transactions, issued, destroyed, transit, fees_collected, circulating, unbalanced, typed_issued,
            typed_destroyed, tx_ids) = CASE WHEN dropped_at IS NULL THEN 10 ELSE 0 END)
        )
    """)
    op.execute("""
        CREATE TABLE journal_carried (
          account text,
          bucket text,
          balance numeric NOT NULL,
          PRIMARY KEY (account, bucket)
        )
    """)
    op.execute("""
        CREATE TABLE journal_carried_place (
          did text PRIMARY KEY,
          xid bigint NOT NULL,
          seq bigint NOT NULL
        )
    """)
