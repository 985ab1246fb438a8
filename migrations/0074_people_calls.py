"""People: the last API calls of each developer."""

from alembic import op

revision = "0074"
down_revision = "0072"

SQL = """
-- At most 1,000 rows of each developer, whose numbers rise in the order of writing. No body and no query of a request is kept.
-- Without a foreign key: writing a call locks nobody's account.
CREATE TABLE people_call (
  developer_id bigint NOT NULL,
  number bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
  agent_did text,
  request_id text NOT NULL CHECK (char_length(request_id) <= 64),
  called_at timestamptz NOT NULL,
  method text NOT NULL,
  route text NOT NULL,
  status smallint NOT NULL,
  took_microseconds bigint NOT NULL CHECK (took_microseconds >= 0),
  idempotency_key text CHECK (char_length(idempotency_key) <= 255),
  PRIMARY KEY (developer_id, number)
);
CREATE INDEX people_call_by_time ON people_call (called_at);
"""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(SQL)
