"""Catalogue: cards of organizations, and the names that they reserve."""

from alembic import op

revision = "2026113007"
down_revision = "2026113006"


def upgrade() -> None:
    op.execute("""
        -- Organization that owns the agent of the card; null: the developer does.
        ALTER TABLE catalogue_card ADD COLUMN organization_id uuid
    """)
    op.execute("""
        CREATE INDEX catalogue_card_organization ON catalogue_card (organization_id, id)
        WHERE organization_id IS NOT NULL
    """)
    op.execute("""
        -- First parts of humanReadableIds that one organization may use.
        CREATE TABLE catalogue_reserved_name (
          name text PRIMARY KEY CHECK (length(name) BETWEEN 2 AND 39),
          organization_id uuid NOT NULL UNIQUE
        )
    """)
