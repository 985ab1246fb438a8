"""People: sessions of browsers, and the log of a developer's own requests."""

from alembic import op

revision = "0064"
down_revision = "0061"

SQL = """
-- A session of a browser has a token in a cookie, of which only the hash is kept, and no refresh token. `expires_at` is the
-- end of its idle time or of the session, whichever is first; `proved_at` is when the password was last given.
ALTER TABLE people_session
  ADD COLUMN browser_token_hash bytea UNIQUE CHECK (octet_length(browser_token_hash) = 32),
  ADD COLUMN expires_at timestamptz,
  ADD COLUMN proved_at timestamptz,
  ADD CONSTRAINT people_session_of_a_browser CHECK (
    (browser_token_hash IS NULL) = (expires_at IS NULL) AND (browser_token_hash IS NULL) = (proved_at IS NULL)
  );

-- The last requests of each developer and of the developer's agents. No crash needs to leave it complete.
CREATE UNLOGGED TABLE people_request_log (
  developer_id bigint NOT NULL,
  number bigint GENERATED ALWAYS AS IDENTITY,
  at timestamptz NOT NULL,
  request_id text NOT NULL,
  method text NOT NULL,
  route text NOT NULL,
  status smallint NOT NULL,
  microseconds integer NOT NULL,
  idempotency_key text,
  agent_did text,
  PRIMARY KEY (developer_id, number)
);
"""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(SQL)
