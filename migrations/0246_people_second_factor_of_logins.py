"""People: the code behind a session or an API key, by the moment of the login that gave it."""

from alembic import op

revision = "0246"
down_revision = "0245"

SQL = """
ALTER TABLE people_session ADD COLUMN second_factor_at timestamptz;
ALTER TABLE people_api_key ADD COLUMN second_factor_at timestamptz;
"""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(SQL)
