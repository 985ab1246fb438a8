"""Catalogue: mirrored cards."""

from alembic import op

revision = "0025"
down_revision = "0024"

SQL = """
-- The version of a mirrored card at its home; an older one never replaces it.
ALTER TABLE catalogue_card ADD peer_version bigint CHECK (peer_version >= 0);
CREATE INDEX catalogue_card_of_peer ON catalogue_card (source_registry) WHERE source_registry IS NOT NULL;
"""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(SQL)
