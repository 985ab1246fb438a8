"""Catalogue: the protocols that a card's interfaces speak, for searches."""

from alembic import op

revision = "2026112932"
down_revision = "2026112931"


def upgrade() -> None:
    # The trigger of the files keeps both; cards of before have no MCP interface but those that name it.
    op.execute("""
        ALTER TABLE catalogue_card
          ADD COLUMN speaks_mcp boolean NOT NULL DEFAULT false,
          ADD COLUMN speaks_a2a boolean NOT NULL DEFAULT true
    """)
    op.execute("""
        WITH bindings AS (
          SELECT c.id, array_agg(upper(coalesce(i ->> 'protocolBinding', ''))) AS named
          FROM catalogue_card c, json_array_elements(c.card_data -> 'supportedInterfaces') AS i
          WHERE c.card_data::text ILIKE '%"MCP"%' AND json_typeof(c.card_data -> 'supportedInterfaces') = 'array'
          GROUP BY c.id)
        UPDATE catalogue_card c SET speaks_mcp = 'MCP' = ANY (b.named), speaks_a2a = EXISTS (
          SELECT FROM unnest(b.named) AS binding WHERE binding <> 'MCP')
        FROM bindings b WHERE b.id = c.id
    """)
