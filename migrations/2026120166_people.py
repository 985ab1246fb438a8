"""People: phones with a passkey that approve logins, and the challenges of passkeys."""

from alembic import op

revision = "2026120166"
down_revision = "2026120165"


def upgrade() -> None:
    op.execute("""
    -- Login by phone of an account, from its first request to enrol a phone on. Its row is locked before phones and logins are counted.
    CREATE TABLE people_phone_account (
      developer_id bigint PRIMARY KEY REFERENCES people_developer (id),
      -- Name of the account at authenticators; it says nothing about the person.
      user_handle bytea NOT NULL CHECK (octet_length(user_handle) = 32),
      -- Wrong numbers and denials as "not me" since the last approval.
      refusals int NOT NULL DEFAULT 0 CHECK (refusals BETWEEN 0 AND 1),
      paused_until timestamptz
    );

    -- Browsers with a passkey that approve logins.
    CREATE TABLE people_phone_device (
      id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
      developer_id bigint NOT NULL REFERENCES people_phone_account (developer_id),
      name text NOT NULL CHECK (length(name) BETWEEN 1 AND 64),
      credential_id bytea NOT NULL UNIQUE CHECK (octet_length(credential_id) BETWEEN 1 AND 1023),
      public_key bytea NOT NULL CHECK (octet_length(public_key) BETWEEN 1 AND 4096),
      sign_count bigint NOT NULL CHECK (sign_count >= 0),
      cookie_hash bytea NOT NULL UNIQUE CHECK (octet_length(cookie_hash) = 32),
      cookie_ends_at timestamptz NOT NULL,
      created_at timestamptz NOT NULL DEFAULT now(),
      last_used_at timestamptz
    );
    CREATE INDEX people_phone_device_developer ON people_phone_device (developer_id);

    -- Logins with the right password that wait for a phone.
    CREATE TABLE people_phone_login (
      id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
      developer_id bigint NOT NULL REFERENCES people_phone_account (developer_id),
      -- Partial token of the browser that logs in.
      token_hash bytea NOT NULL UNIQUE CHECK (octet_length(token_hash) = 32),
      challenge bytea NOT NULL UNIQUE CHECK (octet_length(challenge) = 32),
      number text NOT NULL CHECK (number ~ '^[0-9]{2}$'),
      address text NOT NULL CHECK (length(address) <= 64),
      user_agent text NOT NULL CHECK (length(user_agent) <= 200),
      asked_at timestamptz NOT NULL DEFAULT clock_timestamp(),
      expires_at timestamptz NOT NULL CHECK (expires_at > asked_at),
      status text NOT NULL DEFAULT 'pending'
        CHECK (status IN ('pending', 'approved', 'used', 'wrong_number', 'wrong_passkey', 'denied', 'not_me', 'cancelled', 'expired')),
      decided_at timestamptz CHECK ((status = 'pending') = (decided_at IS NULL))
    );
    CREATE UNIQUE INDEX people_phone_login_pending ON people_phone_login (developer_id) WHERE status = 'pending';
    CREATE INDEX people_phone_login_asked ON people_phone_login (developer_id, asked_at);

    -- Challenges for a passkey that is made, and for a login in the browser that has the passkey. Each is answered once.
    CREATE TABLE people_passkey_challenge (
      -- Session that enrols, or partial token of the login, as SHA-256.
      holder bytea NOT NULL CHECK (octet_length(holder) = 32),
      purpose text NOT NULL CHECK (purpose IN ('enrol', 'login')),
      developer_id bigint NOT NULL REFERENCES people_developer (id),
      challenge bytea NOT NULL UNIQUE CHECK (octet_length(challenge) = 32),
      expires_at timestamptz NOT NULL,
      taken_at timestamptz,
      PRIMARY KEY (holder, purpose)
    );
    CREATE INDEX people_passkey_challenge_developer ON people_passkey_challenge (developer_id);
    """)
