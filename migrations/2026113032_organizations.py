"""Organizations: owners whom an administrator appoints."""

from alembic import op

revision = "2026113032"
down_revision = "2026113031"


def upgrade() -> None:
    op.execute("""
        CREATE TABLE organizations_appointment (
          id uuid PRIMARY KEY,
          organization_id uuid NOT NULL REFERENCES organizations_organization,
          developer_id bigint NOT NULL,
          reason text NOT NULL CHECK (length(reason) BETWEEN 1 AND 2000),
          administrator_id bigint NOT NULL CHECK (administrator_id <> developer_id),
          status text NOT NULL DEFAULT 'PENDING' CHECK (status IN ('PENDING', 'EXECUTED', 'VETOED', 'LAPSED')),
          created_at timestamptz NOT NULL DEFAULT now(),
          -- End of the notice to the members.
          effective_at timestamptz NOT NULL,
          ended_at timestamptz,
          vetoed_by bigint,
          CHECK ((ended_at IS NULL) = (status = 'PENDING')),
          CHECK ((vetoed_by IS NULL) = (status <> 'VETOED'))
        )
    """)
    op.execute("""
        CREATE UNIQUE INDEX organizations_appointment_pending ON organizations_appointment (organization_id)
        WHERE status = 'PENDING'
    """)
    op.execute("""
        CREATE INDEX organizations_appointment_due ON organizations_appointment (effective_at, id)
        WHERE status = 'PENDING'
    """)
