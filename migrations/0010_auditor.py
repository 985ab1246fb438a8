"""Auditor: nothing yet."""

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    pass
