"""Commerce: the grant of a connected client against which a payment token, or a contract's hold, was counted."""

from alembic import op

revision = "2026112914"
down_revision = "2026112913"


def upgrade() -> None:
    op.execute("""
    ALTER TABLE commerce_payment_token ADD COLUMN grant_id uuid;
    ALTER TABLE commerce_contract ADD COLUMN grant_id uuid;
    """)
