"""Federation: how many DIDs of this trust domain each operator registry has claimed at this frame."""

from alembic import op

revision = "0201"
down_revision = "0200"

SQL = """
CREATE TABLE federation_did_holder (
  -- The SPIFFE id of the registry.
  holder text PRIMARY KEY CHECK (length(holder) <= 512),
  claims bigint NOT NULL CHECK (claims >= 0)
);
INSERT INTO federation_did_holder (holder, claims)
SELECT holder, count(*) FROM federation_did_claim WHERE holder IS NOT NULL GROUP BY holder;
"""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(SQL)
