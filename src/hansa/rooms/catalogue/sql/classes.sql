-- How many listed cards there are of each class; writers only add rows, whose sum counts.

-- For the home of a mirrored card and for a kind of enclave the class records only whether there is one: peers may
-- invent any number of them.
CREATE OR REPLACE FUNCTION catalogue_one(value text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT CASE WHEN value IS NOT NULL THEN '' END
$$;

CREATE OR REPLACE FUNCTION catalogue_count_written() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO catalogue_card_class
  SELECT is_active, catalogue_one(source_registry), settlement_currency, catalogue_one(tee_type), encircled, count(*)
  FROM written WHERE NOT unlisted AND status = 'active' GROUP BY 1, 2, 3, 4, 5;
  RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION catalogue_count_erased() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO catalogue_card_class
  SELECT is_active, catalogue_one(source_registry), settlement_currency, catalogue_one(tee_type), encircled, -count(*)
  FROM erased WHERE NOT unlisted AND status = 'active' GROUP BY 1, 2, 3, 4, 5;
  RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION catalogue_count_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NOT OLD.unlisted AND OLD.status = 'active' THEN
    INSERT INTO catalogue_card_class VALUES (OLD.is_active, catalogue_one(OLD.source_registry),
      OLD.settlement_currency, catalogue_one(OLD.tee_type), OLD.encircled, -1);
  END IF;
  IF NOT NEW.unlisted AND NEW.status = 'active' THEN
    INSERT INTO catalogue_card_class VALUES (NEW.is_active, catalogue_one(NEW.source_registry),
      NEW.settlement_currency, catalogue_one(NEW.tee_type), NEW.encircled, 1);
  END IF;
  RETURN NULL;
END $$;
