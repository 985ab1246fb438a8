"""Federation: own DIDs in the order in which they came to be, which an operator compares with its frame."""

from alembic import op

revision = "0177"
down_revision = "0176"

SQL = """
CREATE INDEX federation_did_claim_own ON federation_did_claim (claimed_at, digest) WHERE holder IS NULL AND state = 'held';
"""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(SQL)
