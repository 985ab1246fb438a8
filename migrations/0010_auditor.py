"""Auditor: what it folded so far, and every verdict it gave."""

from alembic import op

revision = "0010"
down_revision = "0009"

SQL = """
-- One row: what all ledger events of transactions before `position` add up to. Amounts in minor units, exact even when
-- somebody tampered with them: NUMERIC.
CREATE TABLE auditor_checkpoint (
  is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
  -- Transaction ids mean something in one database cluster only.
  cluster bigint NOT NULL,
  position bigint NOT NULL CHECK (position >= 0),
  -- Events up to this one carry transaction ids of another cluster and are in the totals already.
  relics_to_seq bigint NOT NULL,
  issued numeric NOT NULL,
  destroyed numeric NOT NULL,
  transit numeric NOT NULL,
  fees_collected numeric NOT NULL,
  circulating numeric NOT NULL,
  unbalanced bigint NOT NULL,
  -- Ledger transactions up to this id were compared with the log; those after it have events from this position on.
  compared_to_tx bigint NOT NULL DEFAULT 0,
  compared_from_position bigint NOT NULL DEFAULT 0,
  -- What the two become once every transaction before `seen_before` has ended.
  seen_tx bigint NOT NULL DEFAULT 0,
  seen_position bigint NOT NULL DEFAULT 0,
  seen_before bigint NOT NULL DEFAULT 0,
  kept_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE auditor_folded (
  account text NOT NULL,
  bucket text NOT NULL,
  balance numeric NOT NULL,
  PRIMARY KEY (account, bucket)
) WITH (fillfactor = 70);

CREATE TABLE auditor_verdict (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  checked_at timestamptz NOT NULL DEFAULT now(),
  as_of_seq bigint NOT NULL,
  from_zero boolean NOT NULL,
  status text NOT NULL CHECK (status IN ('OK', 'BREACH')),
  issued numeric NOT NULL,
  destroyed numeric NOT NULL,
  transit numeric NOT NULL,
  fees_collected numeric NOT NULL,
  circulating numeric NOT NULL,
  delta numeric NOT NULL,
  agent_count bigint NOT NULL,
  checks jsonb NOT NULL,
  -- Which accounts, positions and transactions differ, the first of each kind, in minor units.
  findings jsonb NOT NULL,
  -- The same for the same trouble; null when there is none.
  breach_digest text CHECK ((breach_digest IS NULL) = (status = 'OK'))
);

CREATE FUNCTION auditor_refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION USING MESSAGE = 'verdicts are final: ' || TG_OP || ' is refused',
    ERRCODE = 'integrity_constraint_violation';
END $$;
CREATE TRIGGER auditor_verdict_final BEFORE UPDATE OR DELETE OR TRUNCATE ON auditor_verdict
  FOR EACH STATEMENT EXECUTE FUNCTION auditor_refuse_change();
"""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(SQL)
