"""Catalogue: the developers who imported MCP servers, a row to lock while their servers are counted."""

from alembic import op

revision = "2026112931"
down_revision = "2026112930"


def upgrade() -> None:
    op.execute("CREATE TABLE catalogue_importer (developer_id bigint PRIMARY KEY)")
