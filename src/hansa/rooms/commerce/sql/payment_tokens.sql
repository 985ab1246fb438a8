-- Verifying payment tokens, many in one statement.
-- after: agents/owners.sql

-- The tokens of these hashes as they are now, in the order of the hashes; an unknown one is a row of nulls. An authorized
-- token that has not expired becomes consumed, unless another payee is named; `is_first` is true for the one place that
-- did it, `is_expired` compares the clock with the expiry after any wait, and `caller_status` is null unless the caller is
-- an agent of this registry. Known and unknown tokens take the same statements.
CREATE OR REPLACE FUNCTION commerce_verify_2(hashes bytea[], targets text[], use_ids text[])
RETURNS TABLE (token commerce_payment_token, is_first boolean, is_expired boolean, caller_status text)
LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan SET enable_seqscan = off AS $$
DECLARE
  seen commerce_payment_token;
  tokens commerce_payment_token[] := array_fill(NULL::commerce_payment_token, ARRAY[cardinality(hashes)]);
  firsts boolean[] := array_fill(false, ARRAY[cardinality(hashes)]);
  i int;
BEGIN
  -- By hash: no two batches wait for each other in a ring.
  FOR i IN SELECT n FROM generate_series(1, cardinality(hashes)) n ORDER BY hashes[n], n LOOP
    SELECT * INTO seen FROM commerce_payment_token t WHERE t.token_sha256 = hashes[i];
    IF seen.status = 'authorized' AND (targets[i] IS NULL OR targets[i] = seen.payee) THEN
      UPDATE commerce_payment_token t SET status = 'consumed', consumed_at = clock_timestamp(), use_id = use_ids[i]
      WHERE t.id = seen.id AND t.status = 'authorized' AND clock_timestamp() <= t.expires_at
      RETURNING * INTO seen;
      IF FOUND THEN
        firsts[i] := true;
      ELSE
        SELECT * INTO seen FROM commerce_payment_token t WHERE t.token_sha256 = hashes[i];
      END IF;
    END IF;
    tokens[i] := seen;
  END LOOP;
  RETURN QUERY SELECT tokens[n], firsts[n], coalesce(clock_timestamp() > (tokens[n]).expires_at, false),
    agents_status(coalesce((tokens[n]).caller, ''))
  FROM generate_series(1, cardinality(hashes)) n;
END $$;
