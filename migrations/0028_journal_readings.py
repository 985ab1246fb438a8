"""Journal: the registry's own account, and readings of what an agent takes part in."""

from alembic import op

revision = "0028"
down_revision = "0026"

SQL = """
-- The system account under which facts about the registry itself are filed; written at every start.
CREATE TABLE journal_registry (
  is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
  did text NOT NULL CHECK (length(did) BETWEEN 10 AND 512)
);
INSERT INTO journal_registry (did) VALUES ('did:hansa:system:registry');
"""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(SQL)
