"""Journal: the append-only store of events."""

from alembic import op

revision = "0002"
down_revision = "0001"

SQL = """
CREATE TABLE journal_event (
  seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  id uuid NOT NULL DEFAULT gen_random_uuid(),
  event_type text NOT NULL,
  aggregate_id text NOT NULL,
  aggregate_type text NOT NULL,
  data jsonb NOT NULL,
  metadata jsonb NOT NULL DEFAULT '{}',
  recorded_at timestamptz NOT NULL DEFAULT now(),
  version int NOT NULL DEFAULT 1,
  source_service text NOT NULL,
  idempotency_key text,
  -- Sequence numbers commit out of order. A reader that follows the journal stops before the oldest open
  -- transaction, and needs to know which one wrote each event.
  xid bigint NOT NULL DEFAULT pg_current_xact_id()::text::bigint
);
CREATE UNIQUE INDEX journal_event_key ON journal_event (idempotency_key) WHERE idempotency_key IS NOT NULL;
CREATE INDEX journal_event_xid ON journal_event USING brin (xid);

CREATE FUNCTION journal_refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION USING MESSAGE = 'the journal is append-only: ' || TG_OP || ' is refused',
    ERRCODE = 'integrity_constraint_violation';
END $$;
CREATE TRIGGER journal_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON journal_event
  FOR EACH STATEMENT EXECUTE FUNCTION journal_refuse_change();
"""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(SQL)
