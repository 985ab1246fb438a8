"""Agents: wallets whose signatures pay for an agent."""

from alembic import op

revision = "0035"
down_revision = "0034"

SQL = """
-- The public key is the point without its prefix; the address is the end of its keccak-256.
CREATE TABLE agents_wallet (
  address bytea PRIMARY KEY CHECK (octet_length(address) = 20),
  agent_id bigint NOT NULL REFERENCES agents_agent,
  public_key bytea NOT NULL CHECK (octet_length(public_key) = 64),
  bound_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX agents_wallet_of_agent ON agents_wallet (agent_id);

-- The newest challenge of an agent that binds a wallet.
CREATE TABLE agents_wallet_challenge (
  agent_id bigint PRIMARY KEY REFERENCES agents_agent,
  address bytea NOT NULL CHECK (octet_length(address) = 20),
  text_sha256 bytea NOT NULL CHECK (octet_length(text_sha256) = 32),
  expires_at timestamptz NOT NULL
);

-- Receive addresses: the last 20 bytes of SHA-256("hansa-payee:" and the DID). A DID is ASCII without a backslash.
CREATE INDEX agents_agent_receive_address ON agents_agent (substr(sha256(('hansa-payee:' || did)::bytea), 13));
"""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(SQL)
