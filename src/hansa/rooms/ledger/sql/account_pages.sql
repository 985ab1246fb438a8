-- Room for updates on the pages of accounts (`page_room` in migrations/baseline/ledger.sql).

-- A new row goes to a page with so much room and gives it back before its statement ends: new versions of seven rows fit
-- before the page is cleared. Of rows opened one by one a page takes about six before the next vacuum and 19 after some.
CREATE OR REPLACE FUNCTION ledger_reserve_room() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.page_room := repeat(' ', 1700);
  RETURN NEW;
END $$;

CREATE OR REPLACE TRIGGER ledger_account_reserves_room BEFORE INSERT ON ledger_account
  FOR EACH ROW EXECUTE FUNCTION ledger_reserve_room();

CREATE OR REPLACE FUNCTION ledger_return_room() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE ledger_account a SET page_room = NULL FROM opened o WHERE a.id = o.id;
  RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER ledger_account_returns_room AFTER INSERT ON ledger_account REFERENCING NEW TABLE AS opened
  FOR EACH STATEMENT EXECUTE FUNCTION ledger_return_room();
