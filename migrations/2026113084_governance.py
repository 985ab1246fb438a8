"""Governance: proposals and votes."""

from alembic import op

revision = "2026113084"
down_revision = "2026113083"


def upgrade() -> None:
    op.execute("""
        -- Weights are in minor units. The sums are those of the votes.
        CREATE TABLE governance_proposal (
          id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
          proposer_did text NOT NULL CHECK (length(proposer_did) <= 512),
          -- `developer:<id>` or `organization:<id>`, at the creation.
          owner text NOT NULL CHECK (length(owner) <= 64),
          kind text NOT NULL CHECK (kind IN ('signal', 'policy_change')),
          title text NOT NULL CHECK (length(title) BETWEEN 1 AND 200),
          description text NOT NULL CHECK (length(description) <= 20000),
          -- {name: {from, to}}.
          policy_diff jsonb,
          status text NOT NULL DEFAULT 'OPEN' CHECK (status IN ('OPEN', 'PASSED', 'FAILED', 'CANCELLED')),
          execution text CHECK (execution IN ('AWAITING', 'QUEUED', 'APPLIED', 'DECLINED', 'LAPSED', 'VETOED', 'STALE')),
          created_at timestamptz NOT NULL,
          snapshot_at timestamptz NOT NULL,
          ends_at timestamptz NOT NULL,
          -- The quorum was first reached late, which moved the end once.
          is_extended boolean NOT NULL DEFAULT false,
          votes_for bigint NOT NULL DEFAULT 0 CHECK (votes_for >= 0),
          votes_against bigint NOT NULL DEFAULT 0 CHECK (votes_against >= 0),
          votes_abstain bigint NOT NULL DEFAULT 0 CHECK (votes_abstain >= 0),
          total_voters integer NOT NULL DEFAULT 0 CHECK (total_voters >= 0),
          eligible_weight bigint NOT NULL CHECK (eligible_weight >= 0),
          quorum_weight bigint NOT NULL CHECK (quorum_weight >= 0),
          ended_at timestamptz,
          effective_at timestamptz,
          -- Who decided on the execution last, and why.
          decided_by text CHECK (length(decided_by) <= 64),
          reason text CHECK (length(reason) BETWEEN 1 AND 2000),
          CHECK (snapshot_at <= created_at AND ends_at > created_at),
          CHECK ((policy_diff IS NOT NULL) = (kind = 'policy_change')),
          CHECK (kind = 'policy_change' OR (quorum_weight = 0 AND NOT is_extended)),
          CHECK ((ended_at IS NULL) = (status = 'OPEN')),
          CHECK ((execution IS NOT NULL) = (status = 'PASSED' AND kind = 'policy_change')),
          CHECK (execution NOT IN ('QUEUED', 'APPLIED') OR effective_at IS NOT NULL)
        ) WITH (fillfactor = 70)
    """)
    op.execute("CREATE INDEX governance_proposal_open ON governance_proposal (owner) WHERE status = 'OPEN'")
    op.execute(
        "CREATE INDEX governance_proposal_queued ON governance_proposal (id) WHERE execution = 'QUEUED'"
    )
    op.execute("""
        CREATE TABLE governance_vote (
          id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
          proposal_id bigint NOT NULL REFERENCES governance_proposal,
          voter_did text NOT NULL CHECK (length(voter_did) <= 512),
          vote text NOT NULL CHECK (vote IN ('for', 'against', 'abstain')),
          weight bigint NOT NULL CHECK (weight > 0),
          reason text CHECK (length(reason) BETWEEN 1 AND 2000),
          created_at timestamptz NOT NULL,
          UNIQUE (voter_did, proposal_id)
        )
    """)
    op.execute("CREATE INDEX governance_vote_of ON governance_vote (proposal_id, id)")
