"""Plumbing: what administrators did, append-only."""

from alembic import op

revision = "0019"
down_revision = "0018"

SQL = """
CREATE TABLE plumbing_admin_act (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  -- Who did it; none for the operator, at the command line.
  developer_id bigint,
  -- The session or the API key that was shown.
  credential text NOT NULL CHECK (length(credential) BETWEEN 1 AND 80),
  act text NOT NULL CHECK (act ~ '^[a-z][a-z0-9_.-]{1,79}$'),
  subject text NOT NULL CHECK (length(subject) BETWEEN 1 AND 512),
  reason text CHECK (length(reason) BETWEEN 1 AND 2000),
  done_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX plumbing_admin_act_developer ON plumbing_admin_act (developer_id, id);
CREATE INDEX plumbing_admin_act_subject ON plumbing_admin_act (subject, id);

CREATE FUNCTION plumbing_refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION USING MESSAGE = TG_TABLE_NAME || ' is append-only: ' || TG_OP || ' is refused',
    ERRCODE = 'integrity_constraint_violation';
END $$;
CREATE TRIGGER plumbing_admin_act_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON plumbing_admin_act
  FOR EACH STATEMENT EXECUTE FUNCTION plumbing_refuse_change();
"""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(SQL)
