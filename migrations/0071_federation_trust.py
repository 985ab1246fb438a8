"""Federation: evidence of peer trust by hour, and what is known of the licences of peers."""

from alembic import op

revision = "0071"
down_revision = "0070"

SQL = """
-- Of a kind of evidence that could be produced at will, one counts in an hour.
CREATE UNIQUE INDEX federation_peer_signal_of_hour ON federation_peer_signal
  (peer_id, kind, date_trunc('hour', at AT TIME ZONE 'UTC')) WHERE kind IN ('card_refused', 'unanswered');

-- The verdict on the licence of each registry, this one included, by ledger id; valid until a list on which it rests is too
-- old, or a certificate ends.
CREATE TABLE federation_licence_verdict (
  ledger_id text PRIMARY KEY,
  hash text,
  certificate text,
  chain text[] NOT NULL DEFAULT '{}',
  code text NOT NULL,
  reason text NOT NULL,
  as_of timestamptz,
  valid_until timestamptz,
  checked_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  CHECK (code <> 'verified' OR valid_until IS NOT NULL)
);

-- The newest list of certificates that each issuer signed. An older one never replaces it.
CREATE TABLE federation_licence_list (
  trust_domain text NOT NULL,
  kid text NOT NULL,
  list text NOT NULL,
  generated_at bigint NOT NULL,
  fetched_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (trust_domain, kid)
);
"""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(SQL)
