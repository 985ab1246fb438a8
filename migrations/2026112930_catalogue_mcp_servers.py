"""Catalogue: cards of MCP servers, their tools and the proof of their namespace."""

from alembic import op

revision = "2026112930"
down_revision = "2026112917"


def upgrade() -> None:
    op.execute("""
        ALTER TABLE catalogue_card
          -- Name of the imported MCP server: the namespace in reverse, a slash and the name.
          ADD COLUMN mcp_name text CHECK (length(mcp_name) BETWEEN 3 AND 200),
          ADD COLUMN tools_checked_at timestamptz CHECK (tools_checked_at IS NULL OR mcp_name IS NOT NULL),
          ADD COLUMN namespace_verified_at timestamptz CHECK (namespace_verified_at IS NULL OR mcp_name IS NOT NULL),
          DROP CONSTRAINT catalogue_card_document_source_check,
          ADD CONSTRAINT catalogue_card_document_source_check CHECK (document_source IN ('owner', 'pull', 'tools'))
    """)
    op.execute("""
        ALTER TABLE catalogue_card_version
          DROP CONSTRAINT catalogue_card_version_source_check,
          ADD CONSTRAINT catalogue_card_version_source_check CHECK (source IN ('owner', 'pull', 'tools'))
    """)
    op.execute("""
        ALTER TABLE catalogue_visit
          DROP CONSTRAINT catalogue_visit_errand_check,
          ADD CONSTRAINT catalogue_visit_errand_check CHECK (errand IN ('pull', 'liveness', 'namespace'))
    """)
    # Two names of cards can make the same name of a server: `a.b/c` and `a/b.c`.
    op.execute("""
        CREATE INDEX catalogue_card_server_name ON catalogue_card (replace(human_readable_id, '/', '.'), id)
        WHERE source_registry IS NULL
    """)
    op.execute("""
        CREATE INDEX catalogue_card_unverified_mcp ON catalogue_card (developer_id)
        WHERE mcp_name IS NOT NULL AND namespace_verified_at IS NULL
    """)
