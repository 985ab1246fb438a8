"""Baseline: the tables of every room, a page for each in `baseline/`."""

from pathlib import Path

from alembic import op

revision = "2026112901"
down_revision = None

# Pages follow each other by their foreign keys.
PAGES = (
    "plumbing",
    "journal",
    "ledger",
    "federation",
    "catalogue",
    "agents",
    "people",
    "enforcement",
    "transfers",
    "commerce",
    "reputation",
    "auditor",
    "notifications",
)


def upgrade() -> None:
    directory = Path(__file__).with_name("baseline")
    for page in PAGES:
        sql = (directory / f"{page}.sql").read_text(encoding="utf-8")
        op.get_bind().exec_driver_sql(sql.replace("%", "%%"))
