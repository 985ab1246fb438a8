-- Distributions are settled before each change of a holding, by whatever writes it; the writer has locked the listing.
-- after: plumbing/admin_acts.sql

-- Units that a holding of this many points is owed at the present index of its listing.
CREATE OR REPLACE FUNCTION exchange_owed(owed bigint, qty bigint, settled numeric, per_point numeric) RETURNS bigint
LANGUAGE sql IMMUTABLE
RETURN (owed + qty * (per_point - settled))::bigint;

CREATE OR REPLACE FUNCTION exchange_settle_holding() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  present numeric := (SELECT r.per_point FROM exchange_revenue r WHERE r.ref = NEW.ref);
BEGIN
  IF TG_OP = 'UPDATE' THEN
    NEW.owed := exchange_owed(NEW.owed, OLD.qty, NEW.settled, coalesce(present, NEW.settled));
  END IF;
  NEW.settled := coalesce(present, NEW.settled);
  RETURN NEW;
END $$;

CREATE OR REPLACE TRIGGER exchange_holding_opened BEFORE INSERT ON exchange_holding
  FOR EACH ROW EXECUTE FUNCTION exchange_settle_holding();
CREATE OR REPLACE TRIGGER exchange_holding_settled BEFORE UPDATE OF qty ON exchange_holding
  FOR EACH ROW WHEN (OLD.qty IS DISTINCT FROM NEW.qty) EXECUTE FUNCTION exchange_settle_holding();

-- Levies are final.
CREATE OR REPLACE TRIGGER exchange_levy_final BEFORE UPDATE OR DELETE OR TRUNCATE ON exchange_levy
  FOR EACH STATEMENT EXECUTE FUNCTION plumbing_refuse_change();
