"""Proofs: circuits and attestations; attestations that disputes cite, and their effect on a slash."""

from alembic import op

revision = "2026120164"
down_revision = "2026120163"


def upgrade() -> None:
    op.execute("""
        -- A circuit whose proofs this registry verifies. A verification key is never replaced.
        CREATE TABLE proofs_circuit (
          circuit_id text PRIMARY KEY CHECK (circuit_id ~ '^[a-z0-9][a-z0-9._-]{0,63}$'),
          seq bigint GENERATED ALWAYS AS IDENTITY UNIQUE,
          title text NOT NULL CHECK (length(title) BETWEEN 1 AND 150),
          statement text NOT NULL CHECK (length(statement) BETWEEN 1 AND 4000),
          source_uri text NOT NULL CHECK (length(source_uri) <= 2048),
          verification_key jsonb NOT NULL,
          -- Places among the public inputs, from 0.
          holder_input smallint NOT NULL CHECK (holder_input BETWEEN 0 AND 31),
          context_input smallint CHECK (context_input BETWEEN 0 AND 31 AND context_input <> holder_input),
          setup_note text NOT NULL CHECK (length(setup_note) BETWEEN 1 AND 4000),
          registered_by bigint NOT NULL,
          registered_at timestamptz NOT NULL DEFAULT clock_timestamp(),
          retired_at timestamptz
        )
    """)
    op.execute("""
        -- A verified proof, identified by its circuit and inputs (`inputs_sha256`), never by its bytes.
        CREATE TABLE proofs_attestation (
          attestation_id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
          seq bigint GENERATED ALWAYS AS IDENTITY UNIQUE,
          circuit_id text NOT NULL REFERENCES proofs_circuit,
          inputs_sha256 bytea NOT NULL CHECK (length(inputs_sha256) = 32),
          agent_did text NOT NULL CHECK (length(agent_did) <= 512),
          context text CHECK (length(context) <= 64),
          public_inputs text[] NOT NULL CHECK (cardinality(public_inputs) BETWEEN 1 AND 32),
          proof jsonb NOT NULL,
          verified_at timestamptz NOT NULL DEFAULT clock_timestamp(),
          expires_at timestamptz NOT NULL CHECK (expires_at > verified_at),
          revoked_at timestamptz,
          -- DID of the holder, or `developer:<id>` of an administrator.
          revoked_by text CHECK (length(revoked_by) <= 512),
          UNIQUE (circuit_id, inputs_sha256),
          CHECK ((revoked_at IS NULL) = (revoked_by IS NULL))
        )
    """)
    op.execute("CREATE INDEX proofs_attestation_of ON proofs_attestation (agent_did, seq)")
    op.execute("""
        -- Submissions of an agent on one day (UTC), those that were refused included.
        CREATE TABLE proofs_submitted (
          agent_did text PRIMARY KEY CHECK (length(agent_did) <= 512),
          day date NOT NULL,
          count smallint NOT NULL CHECK (count BETWEEN 1 AND 20)
        ) WITH (fillfactor = 50)
    """)
    op.execute("""
        -- Attestations that a party cited as evidence, beside those that the complaint names.
        CREATE TABLE commerce_dispute_citation (
          id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
          dispute_id bigint NOT NULL REFERENCES commerce_dispute,
          attestation_id text NOT NULL CHECK (length(attestation_id) BETWEEN 1 AND 128),
          by_did text NOT NULL CHECK (length(by_did) <= 512),
          cited_at timestamptz NOT NULL DEFAULT clock_timestamp(),
          UNIQUE (dispute_id, attestation_id)
        )
    """)
    op.execute("""
        -- Units by which cited attestations cut the slash, and the facts that this was computed from, as of the ruling.
        ALTER TABLE commerce_dispute
          ADD COLUMN slash_reduction bigint NOT NULL DEFAULT 0 CHECK (slash_reduction BETWEEN 0 AND slash_requested / 2 + 1),
          ADD COLUMN attested jsonb
    """)
