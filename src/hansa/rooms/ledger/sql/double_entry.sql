-- Double entry: postings balance, and what is posted is final. The last check, below the rules in Python.

-- Postings written by one statement sum to zero for each transaction, unless they sum to what it issues or destroys.
CREATE OR REPLACE FUNCTION ledger_require_balance() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  -- What is issued or destroyed is rare: without it no transaction is read.
  IF NOT EXISTS (SELECT FROM written GROUP BY tx_id HAVING sum(delta) <> 0) THEN
    RETURN NULL;
  END IF;
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

CREATE OR REPLACE TRIGGER ledger_postings_balance AFTER INSERT ON ledger_posting REFERENCING NEW TABLE AS written
  FOR EACH STATEMENT EXECUTE FUNCTION ledger_require_balance();

CREATE OR REPLACE FUNCTION ledger_refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION USING MESSAGE = 'the book is final: ' || TG_OP || ' is refused',
    ERRCODE = 'integrity_constraint_violation';
END $$;

CREATE OR REPLACE TRIGGER ledger_transaction_final BEFORE UPDATE OR DELETE OR TRUNCATE ON ledger_transaction
  FOR EACH STATEMENT EXECUTE FUNCTION ledger_refuse_change();

CREATE OR REPLACE TRIGGER ledger_posting_final BEFORE UPDATE OR DELETE OR TRUNCATE ON ledger_posting
  FOR EACH STATEMENT EXECUTE FUNCTION ledger_refuse_change();
