"""Federation and transfers: the weight of a peer, and the fees of its payments that count on a day."""

from alembic import op

revision = "0244"
down_revision = "0243"

SQL = """
-- The score of a peer in thousandths; 0 while it is unmeasured.
ALTER TABLE federation_peer ADD COLUMN trust_weight smallint NOT NULL DEFAULT 0 CHECK (trust_weight BETWEEN 0 AND 1000);
-- The fees of a peer's payments that are evidence, by UTC day.
CREATE TABLE transfers_counted_fee (
  peer text NOT NULL,
  day date NOT NULL,
  fee bigint NOT NULL CHECK (fee >= 0),
  PRIMARY KEY (peer, day)
);
"""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(SQL)
