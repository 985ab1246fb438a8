"""Organizations: members, invitations, teams, requests and what was done."""

from alembic import op

revision = "2026113008"
down_revision = "2026113007"


def upgrade() -> None:
    op.execute("""
        -- A deleted one keeps its row: its name is never used again.
        CREATE TABLE organizations_organization (
          id uuid PRIMARY KEY,
          slug text NOT NULL UNIQUE CHECK (slug ~ '^[a-z0-9](-?[a-z0-9])*$' AND length(slug) BETWEEN 2 AND 39),
          -- The slug in the plainest characters that it can be mistaken for.
          skeleton text NOT NULL UNIQUE,
          name text NOT NULL CHECK (length(name) BETWEEN 1 AND 100),
          description text NOT NULL DEFAULT '' CHECK (length(description) <= 2000),
          visibility text NOT NULL DEFAULT 'private' CHECK (visibility IN ('private', 'public')),
          treasury_did text NOT NULL UNIQUE,
          status text NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'suspended', 'deleted')),
          created_by bigint NOT NULL,
          created_at timestamptz NOT NULL DEFAULT now()
        )
    """)
    op.execute("""
        -- Members, present and former. Role: 1 viewer, 2 member, 3 admin, 4 owner; null: the membership has ended.
        CREATE TABLE organizations_member (
          organization_id uuid NOT NULL REFERENCES organizations_organization,
          developer_id bigint NOT NULL,
          role smallint CHECK (role BETWEEN 1 AND 4),
          joined_at timestamptz NOT NULL DEFAULT now(),
          left_at timestamptz,
          PRIMARY KEY (organization_id, developer_id),
          CHECK ((role IS NULL) = (left_at IS NOT NULL))
        )
    """)
    op.execute(
        "CREATE INDEX organizations_member_developer ON organizations_member (developer_id, organization_id)"
    )
    op.execute("""
        CREATE TABLE organizations_team (
          id uuid PRIMARY KEY,
          organization_id uuid NOT NULL REFERENCES organizations_organization,
          slug text NOT NULL CHECK (slug ~ '^[a-z0-9](-?[a-z0-9])*$' AND length(slug) BETWEEN 2 AND 39),
          -- Right at its agents: 1 read, 2 operate, 3 manage.
          held_right smallint NOT NULL CHECK (held_right BETWEEN 1 AND 3),
          created_at timestamptz NOT NULL DEFAULT now(),
          UNIQUE (organization_id, slug)
        )
    """)
    op.execute("""
        CREATE TABLE organizations_team_member (
          team_id uuid NOT NULL REFERENCES organizations_team ON DELETE CASCADE,
          developer_id bigint NOT NULL,
          PRIMARY KEY (team_id, developer_id)
        )
    """)
    op.execute("CREATE INDEX organizations_team_member_developer ON organizations_team_member (developer_id)")
    op.execute("""
        CREATE TABLE organizations_team_agent (
          team_id uuid NOT NULL REFERENCES organizations_team ON DELETE CASCADE,
          did text NOT NULL CHECK (length(did) <= 512),
          PRIMARY KEY (team_id, did)
        )
    """)
    op.execute("CREATE INDEX organizations_team_agent_did ON organizations_team_agent (did)")
    op.execute("""
        -- An ended invitation is deleted with its address after some weeks.
        CREATE TABLE organizations_invitation (
          id uuid PRIMARY KEY,
          organization_id uuid NOT NULL REFERENCES organizations_organization,
          email text NOT NULL CHECK (length(email) <= 320),
          role smallint NOT NULL CHECK (role BETWEEN 1 AND 3),
          team_ids uuid[] NOT NULL DEFAULT '{}',
          token_sha256 bytea NOT NULL UNIQUE CHECK (octet_length(token_sha256) = 32),
          invited_by bigint NOT NULL,
          status text NOT NULL DEFAULT 'pending'
            CHECK (status IN ('pending', 'accepted', 'declined', 'revoked', 'replaced')),
          created_at timestamptz NOT NULL DEFAULT now(),
          expires_at timestamptz NOT NULL,
          ended_at timestamptz,
          CHECK ((ended_at IS NULL) = (status = 'pending'))
        )
    """)
    op.execute("""
        CREATE UNIQUE INDEX organizations_invitation_pending ON organizations_invitation (organization_id, email)
        WHERE status = 'pending'
    """)
    op.execute("CREATE INDEX organizations_invitation_email ON organizations_invitation (email, created_at)")
    op.execute("""
        CREATE INDEX organizations_invitation_of ON organizations_invitation (organization_id, created_at)
    """)
    op.execute(
        "CREATE INDEX organizations_invitation_by ON organizations_invitation (invited_by, created_at)"
    )
    op.execute("CREATE INDEX organizations_invitation_end ON organizations_invitation (expires_at)")
    op.execute("""
        CREATE TABLE organizations_request (
          id uuid PRIMARY KEY,
          organization_id uuid NOT NULL REFERENCES organizations_organization,
          kind text NOT NULL CHECK (length(kind) BETWEEN 1 AND 40),
          body jsonb NOT NULL,
          -- Developer whom the request concerns, who does not count among its approvers.
          concerned_id bigint,
          initiator_id bigint NOT NULL,
          status text NOT NULL DEFAULT 'PENDING'
            CHECK (status IN ('PENDING', 'EXECUTED', 'REJECTED', 'CANCELLED', 'EXPIRED')),
          created_at timestamptz NOT NULL DEFAULT now(),
          expires_at timestamptz NOT NULL,
          ended_at timestamptz,
          reason text CHECK (length(reason) <= 2000),
          CHECK ((ended_at IS NULL) = (status = 'PENDING'))
        )
    """)
    op.execute(
        "CREATE INDEX organizations_request_of ON organizations_request (organization_id, created_at DESC, id)"
    )
    op.execute("""
        CREATE INDEX organizations_request_pending ON organizations_request (organization_id) WHERE status = 'PENDING'
    """)
    op.execute("""
        CREATE TABLE organizations_approval (
          request_id uuid NOT NULL REFERENCES organizations_request,
          developer_id bigint NOT NULL,
          approved_at timestamptz NOT NULL DEFAULT now(),
          PRIMARY KEY (request_id, developer_id)
        )
    """)
    op.execute("""
        CREATE TABLE organizations_act (
          id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
          organization_id uuid NOT NULL REFERENCES organizations_organization,
          done_at timestamptz NOT NULL DEFAULT now(),
          actor_id bigint NOT NULL,
          credential text NOT NULL CHECK (length(credential) <= 200),
          act text NOT NULL CHECK (length(act) <= 60),
          target text NOT NULL CHECK (length(target) <= 520),
          -- SHA-256 of the members of the act, as canonical JSON.
          digest bytea NOT NULL CHECK (octet_length(digest) = 32)
        )
    """)
    op.execute("CREATE INDEX organizations_act_of ON organizations_act (organization_id, id DESC)")
