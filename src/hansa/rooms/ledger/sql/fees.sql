-- Amounts as text, the rates in force, the fee above the base rate, and the parts of a fee that is held.
-- after: plumbing/parameters.sql

-- Minor units as the decimal string that is used outside.
CREATE OR REPLACE FUNCTION ledger_amount(minor bigint) RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT trim_scale(minor * 0.00000001)::text
$$;

-- Accounts that collect fees: the one that is named, and seven more.
CREATE OR REPLACE FUNCTION ledger_collectors(collector text) RETURNS text[] LANGUAGE sql IMMUTABLE AS $$
  SELECT ARRAY[collector] || ARRAY(SELECT concat(collector, ':', n) FROM generate_series(2, 8) n ORDER BY n)
$$;

-- The rates in force at a moment: numerators and denominators of the base rate, the maximum rate, and the two turnovers between which
-- the rate rises. `policy` holds such eight numbers; the moment before which they and the changes are complete; for each change its moment
-- and eight numbers; the eight numbers of the environment. Moments are microseconds since 1970. From that moment on, or where `policy` is
-- nothing but the numbers of the environment, the table of the changes decides.
CREATE OR REPLACE FUNCTION ledger_fees_at(policy bigint[], at timestamptz) RETURNS bigint[]
LANGUAGE plpgsql AS $$
DECLARE
  microseconds bigint := (extract(epoch FROM at) * 1000000)::bigint;
  size int := cardinality(policy);
  found bigint[] := policy[1:8];
  changed record;
BEGIN
  IF microseconds < policy[9] THEN
    FOR n IN 10 .. size - 16 BY 9 LOOP
      EXIT WHEN policy[n] > microseconds;
      found := policy[n + 1 : n + 8];
    END LOOP;
    RETURN found;
  END IF;
  found := policy[size - 7 : size];
  -- Six fraction digits of a percentage are a whole number of 10^-8.
  FOR changed IN
    SELECT p.name, ((p.value #>> '{}')::numeric * 1000000)::bigint AS rate FROM plumbing_parameters_at(at) p
    WHERE p.name IN ('fee_base_rate_percent', 'fee_max_rate_percent')
  LOOP
    IF changed.name = 'fee_base_rate_percent' THEN
      found[1:2] := ARRAY[changed.rate, 100000000];
    ELSE
      found[3:4] := ARRAY[changed.rate, 100000000];
    END IF;
  END LOOP;
  RETURN found;
END $$;

-- The fee of a payer with a high hourly volume. `policy` holds numerators and denominators: base rate, maximum rate,
-- and the two turnovers between which the rate rises.
CREATE OR REPLACE FUNCTION ledger_fee_of_hot_payer(amount numeric, sent numeric, held numeric, policy numeric[]) RETURNS bigint
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  heat numeric := (sent * policy[6] - policy[5] * held) * policy[8];
  heat_max numeric := held * (policy[7] * policy[6] - policy[5] * policy[8]);
  dividend numeric;
  divisor numeric;
  fee numeric;
  twice_the_rest numeric;
BEGIN
  IF held = 0 THEN
    heat := 0;
    heat_max := 1;
  END IF;
  heat := least(heat, heat_max);
  dividend := amount
    * (policy[1] * policy[4] * heat_max + heat * (policy[3] * policy[2] - policy[1] * policy[4]));
  divisor := policy[2] * policy[4] * heat_max;
  fee := div(dividend, divisor);
  twice_the_rest := 2 * (dividend - fee * divisor);
  IF twice_the_rest > divisor OR twice_the_rest = divisor AND fee % 2 = 1 THEN
    fee := fee + 1;
  END IF;
  RETURN fee;
END $$;

-- The part of a held fee that is taken once `captured` of the amount is captured: half to even, all of it at the end.
-- The fee of one capture is the difference to the part before, so that the parts never exceed what is held.
CREATE OR REPLACE FUNCTION ledger_held_fee(captured bigint, amount bigint, fee_held bigint) RETURNS bigint
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  dividend numeric := captured::numeric * fee_held;
  fee numeric := div(dividend, amount);
  twice_the_rest numeric := 2 * (dividend - fee * amount);
BEGIN
  IF twice_the_rest > amount OR twice_the_rest = amount AND fee % 2 = 1 THEN
    fee := fee + 1;
  END IF;
  RETURN fee;
END $$;
