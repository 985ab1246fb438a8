"""Ledger: accounts, transactions and their postings."""

from alembic import op

revision = "0003"
down_revision = "0002"

SQL = """
CREATE TABLE ledger_account (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  did text NOT NULL UNIQUE CHECK (length(did) BETWEEN 10 AND 512),
  kind text NOT NULL CHECK (kind IN ('agent', 'system')),
  status text NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'suspended')),
  liquid bigint NOT NULL DEFAULT 0 CHECK (liquid >= 0),
  -- What was sent in each of the last minutes: (minute, units sent, largest balance before sending), flat.
  pace bigint[] NOT NULL DEFAULT '{}',
  opened_at timestamptz NOT NULL DEFAULT now()
) WITH (fillfactor = 60);

CREATE TABLE ledger_transaction (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  tx_type text NOT NULL CHECK (tx_type IN ('issue', 'destroy', 'grant', 'transfer')),
  payer_id bigint CHECK (payer_id <> payee_id),
  payee_id bigint,
  amount bigint NOT NULL CHECK (amount > 0),
  fee bigint NOT NULL DEFAULT 0 CHECK (fee >= 0),
  message text CHECK (length(message) <= 256),
  ref text,
  recorded_at timestamptz NOT NULL DEFAULT now(),
  CHECK ((payer_id IS NULL) = (tx_type = 'issue')),
  CHECK ((payee_id IS NULL) = (tx_type = 'destroy'))
);
CREATE INDEX ledger_transaction_payer ON ledger_transaction (payer_id, id);
CREATE INDEX ledger_transaction_payee ON ledger_transaction (payee_id, id);
-- Units are issued once for each reference, the genesis supply included, and destroyed once for each.
CREATE UNIQUE INDEX ledger_transaction_supply ON ledger_transaction (tx_type, ref)
  WHERE tx_type IN ('issue', 'destroy');

CREATE TABLE ledger_posting (
  tx_id bigint NOT NULL,
  account_id bigint NOT NULL,
  bucket text NOT NULL CHECK (bucket = 'liquid'),
  delta bigint NOT NULL CHECK (delta <> 0),
  balance_after bigint NOT NULL CHECK (balance_after >= 0),
  PRIMARY KEY (account_id, tx_id, bucket)
);

-- The last guard of double entry: postings written by one statement sum to zero for each transaction, unless they sum
-- to what it issues or destroys.
CREATE FUNCTION ledger_require_balance() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (
    SELECT 1 FROM (SELECT tx_id, sum(delta) AS net FROM written GROUP BY tx_id HAVING sum(delta) <> 0) unbalanced
    JOIN ledger_transaction t ON t.id = unbalanced.tx_id
    WHERE unbalanced.net <> CASE t.tx_type WHEN 'issue' THEN t.amount WHEN 'destroy' THEN -t.amount ELSE 0 END
  ) THEN
    RAISE EXCEPTION 'postings do not sum to zero, or to what is issued or destroyed'
      USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER ledger_postings_balance AFTER INSERT ON ledger_posting REFERENCING NEW TABLE AS written
  FOR EACH STATEMENT EXECUTE FUNCTION ledger_require_balance();
CREATE FUNCTION ledger_refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION USING MESSAGE = 'the book is final: ' || TG_OP || ' is refused',
    ERRCODE = 'integrity_constraint_violation';
END $$;
CREATE TRIGGER ledger_transaction_final BEFORE UPDATE OR DELETE OR TRUNCATE ON ledger_transaction
  FOR EACH STATEMENT EXECUTE FUNCTION ledger_refuse_change();
CREATE TRIGGER ledger_posting_final BEFORE UPDATE OR DELETE OR TRUNCATE ON ledger_posting
  FOR EACH STATEMENT EXECUTE FUNCTION ledger_refuse_change();
"""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(SQL)
