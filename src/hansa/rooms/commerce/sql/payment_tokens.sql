-- Verifying payment tokens, many in one statement.
-- after: agents/owners.sql

-- The tokens of these hashes as they are now, in the order of the hashes; an unknown one is a row of nulls. An authorized
-- token that has not expired becomes consumed, unless another payee is named; `is_first` is true for the one place that
-- did it, `is_expired` compares the clock with the expiry after any wait, and `caller_status` is null unless the caller is
-- an agent of this registry. Known and unknown tokens take the same statements.
CREATE OR REPLACE FUNCTION commerce_verify_2(hashes bytea[], targets text[], use_ids text[])
RETURNS TABLE (token commerce_payment_token, is_first boolean, is_expired boolean, caller_status text)
LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_hashjoin = off
SET enable_mergejoin = off AS $$
DECLARE
  firsts bigint[];
BEGIN
  -- One statement for all: each that writes reads the conditions of the table anew. By id, as settling locks them: no two
  -- batches wait for each other in a ring.
  WITH unused AS (
    SELECT DISTINCT ON (t.id) t.id, n.use_id, n.place
    FROM unnest(hashes, targets, use_ids) WITH ORDINALITY AS n (hash, target, use_id, place)
    JOIN commerce_payment_token t ON t.token_sha256 = n.hash
    WHERE t.status = 'authorized' AND (n.target IS NULL OR n.target = t.payee)
    ORDER BY t.id, n.place
  ), used AS (
    UPDATE commerce_payment_token t SET status = 'consumed', consumed_at = clock_timestamp(), use_id = u.use_id
    FROM unused u WHERE t.id = u.id AND t.status = 'authorized' AND clock_timestamp() <= t.expires_at
    RETURNING u.place
  )
  SELECT array_agg(u.place) INTO firsts FROM used u;
  -- A statement of its own after any wait: it sees what a rival committed.
  RETURN QUERY SELECT t, coalesce(n.place = ANY (firsts), false), coalesce(clock_timestamp() > t.expires_at, false),
    (SELECT a.status FROM agents_known(coalesce(t.caller, '')) a)
  FROM unnest(hashes) WITH ORDINALITY AS n (hash, place) LEFT JOIN commerce_payment_token t ON t.token_sha256 = n.hash
  ORDER BY n.place;
END $$;
