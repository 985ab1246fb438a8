"""Commerce: authorizations of wallets that were settled over x402."""

from alembic import op

revision = "0039"
down_revision = "0038"

SQL = """
-- An address uses a nonce once, for ever. `digest` is what the wallet signed (EIP-712); the token is what paid it.
CREATE TABLE commerce_x402_authorization (
  address bytea NOT NULL CHECK (octet_length(address) = 20),
  nonce bytea NOT NULL CHECK (octet_length(nonce) = 32),
  digest bytea NOT NULL CHECK (octet_length(digest) = 32),
  token_id uuid NOT NULL UNIQUE REFERENCES commerce_payment_token,
  settled_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (address, nonce)
);
"""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(SQL)
