"""People: two-factor login, setting a new password, who holds a session; letters that wait for the mail server."""

from alembic import op

revision = "0013"
down_revision = "0012"

SQL = """
-- One authenticator app an account; it counts from `enabled_at` on.
CREATE TABLE people_second_factor (
  developer_id bigint PRIMARY KEY REFERENCES people_developer (id),
  sealed_seed bytea NOT NULL,
  enabled_at timestamptz,
  -- The last time step whose code was taken: no code of it or before is taken again.
  last_step bigint NOT NULL DEFAULT 0,
  wrong_codes int NOT NULL DEFAULT 0 CHECK (wrong_codes >= 0),
  paused_until timestamptz
);

CREATE TABLE people_backup_code (
  developer_id bigint NOT NULL REFERENCES people_developer (id),
  code_hash bytea NOT NULL,
  PRIMARY KEY (developer_id, code_hash)
);

-- A key is looked for among those of one account.
ALTER TABLE people_recovery_key DROP CONSTRAINT people_recovery_key_pkey, ADD PRIMARY KEY (developer_id, key_hash);

-- The first half of a login: the password was right, the code is still to come.
CREATE TABLE people_partial_token (
  token_hash bytea PRIMARY KEY,
  developer_id bigint NOT NULL REFERENCES people_developer (id),
  expires_at timestamptz NOT NULL,
  tries int NOT NULL DEFAULT 0 CHECK (tries BETWEEN 0 AND 5)
);
CREATE INDEX people_partial_token_developer ON people_partial_token (developer_id);

-- The right to set a new password once, without the old one.
CREATE TABLE people_password_grant (
  id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
  developer_id bigint NOT NULL REFERENCES people_developer (id),
  issued_at timestamptz NOT NULL DEFAULT now(),
  expires_at timestamptz NOT NULL
);
CREATE INDEX people_password_grant_developer ON people_password_grant (developer_id);

-- Addresses whose owner may have forgotten a password, known here or not, until somebody looks.
CREATE TABLE people_forgotten_password (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  email text NOT NULL CHECK (length(email) <= 254),
  asked_at timestamptz NOT NULL DEFAULT now()
);

ALTER TABLE people_developer ADD COLUMN reset_mailed_at timestamptz;

ALTER TABLE people_session
  ADD COLUMN continued_at timestamptz NOT NULL DEFAULT now(),
  ADD COLUMN client text NOT NULL DEFAULT '' CHECK (length(client) <= 200),
  ADD COLUMN address text NOT NULL DEFAULT '' CHECK (length(address) <= 64);
CREATE INDEX people_session_idle ON people_session (continued_at);
CREATE INDEX people_refresh_token_session ON people_refresh_token (session_id);
CREATE INDEX people_refresh_token_expiry ON people_refresh_token (expires_at);

CREATE TABLE plumbing_letter (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  recipient text NOT NULL CHECK (length(recipient) <= 254),
  -- Subject and text; they may hold a link that opens an account.
  sealed_content bytea NOT NULL,
  written_at timestamptz NOT NULL DEFAULT now(),
  tries int NOT NULL DEFAULT 0,
  next_try_at timestamptz NOT NULL DEFAULT now(),
  -- After this it is of no use any more.
  good_until timestamptz NOT NULL
);
CREATE INDEX plumbing_letter_due ON plumbing_letter (next_try_at);
"""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(SQL)
