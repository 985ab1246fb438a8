"""Commerce: budgets of purchases."""

from alembic import op

revision = "2026113080"
down_revision = "2026113090"


def upgrade() -> None:
    op.execute("""
        -- Amounts without fees. `open` is that of tokens which have not ended.
        CREATE TABLE commerce_purchase_budget (
          id uuid PRIMARY KEY,
          budget bigint NOT NULL CHECK (budget > 0),
          spent bigint NOT NULL DEFAULT 0 CHECK (spent >= 0),
          open bigint NOT NULL DEFAULT 0 CHECK (open >= 0),
          CHECK (spent + open <= budget)
        )
    """)
    op.execute("ALTER TABLE commerce_payment_token ADD COLUMN purchase_budget_id uuid")
