"""Plumbing: the newest backup and the last attempt that failed, one row."""

from alembic import op

revision = "2026113003"
down_revision = "2026113002"


def upgrade() -> None:
    op.execute("""
        CREATE TABLE plumbing_backup (
          is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
          taken_at timestamptz,
          failed_at timestamptz,
          failure text CHECK (length(failure) <= 500),
          CHECK ((failed_at IS NULL) = (failure IS NULL))
        )
    """)
