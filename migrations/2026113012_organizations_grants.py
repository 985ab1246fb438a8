"""Invitations that give a right to approve, by the request that granted it; one request for a transaction."""

from alembic import op

revision = "2026113012"
down_revision = "2026113011"


def upgrade() -> None:
    op.execute(
        "ALTER TABLE organizations_invitation ADD COLUMN request_id uuid REFERENCES organizations_request"
    )
    # A transaction of the ledger is that of one request.
    op.execute("""
        CREATE UNIQUE INDEX organizations_request_tx ON organizations_request (tx_id) WHERE tx_id IS NOT NULL
    """)
    op.execute("""
        CREATE INDEX organizations_request_email ON organizations_request ((body ->> 'email')) WHERE kind = 'grant'
    """)
