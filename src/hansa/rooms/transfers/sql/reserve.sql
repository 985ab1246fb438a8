-- Transfers that leave for another registry, written in the commit that reserves their units: the extension transfers_reserve
-- (ledger/sql/extensions.sql says how it is called).
-- after: ledger/extensions.sql

-- A payload is a row of `transfers_sent`, with `deadline_seconds` and `first_retry_seconds` from now. Refusal: PEER_REWOUND,
-- while crossing with that peer is stopped.
CREATE OR REPLACE FUNCTION transfers_reserve_claim(lines jsonb) RETURNS TABLE (place int, refusal text, result jsonb)
LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan SET enable_seqscan = off AS $$
#variable_conflict use_column
DECLARE
  named CONSTANT text[] := ARRAY(SELECT DISTINCT l -> 'payload' ->> 'peer' FROM jsonb_array_elements(lines) l ORDER BY 1);
BEGIN
  INSERT INTO transfers_pair (peer)
  SELECT n.wanted FROM unnest(named) AS n (wanted) WHERE NOT EXISTS (SELECT FROM transfers_pair p WHERE p.peer = n.wanted)
  ON CONFLICT DO NOTHING;
  -- The end of a peer waits for what is reserved, and the reverse.
  PERFORM FROM transfers_pair p WHERE p.peer = ANY (named) ORDER BY p.peer FOR KEY SHARE;
  RETURN QUERY SELECT (l ->> 'place')::int, 'PEER_REWOUND', NULL::jsonb
  FROM jsonb_array_elements(lines) l
  WHERE l -> 'payload' ->> 'peer' IN (
    SELECT p.peer FROM transfers_pair p WHERE p.peer = ANY (named) AND (p.crossing <> 'open'
      OR EXISTS (SELECT FROM transfers_sent s WHERE s.peer = p.peer AND s.state = 'in_doubt')));
END $$;

-- The result has the id of the transfer, `crossing`.
CREATE OR REPLACE FUNCTION transfers_reserve_record(lines jsonb) RETURNS TABLE (place int, result jsonb)
LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan SET enable_seqscan = off AS $$
#variable_conflict use_column
BEGIN
  RETURN QUERY
  WITH line AS (
    SELECT (l ->> 'place')::int AS place, (l ->> 'balance')::bigint AS balance, n.*
    FROM jsonb_array_elements(lines) l CROSS JOIN LATERAL jsonb_to_record(l -> 'payload') AS n (transfer_id uuid, peer text,
      frame text, sender_did text, receiver_did text, amount bigint, currency text, memo text, expected_fee bigint,
      backend text, is_counted boolean, capability_id uuid, grant_id uuid, request_scope text, deadline_seconds float,
      first_retry_seconds float, currency_received text, min_amount_out bigint, amount_out bigint, quote_id uuid, purpose text)
  ), written AS (
    INSERT INTO transfers_sent (transfer_id, peer, frame, sender_did, receiver_did, amount, currency, memo, state, expected_fee,
      backend, balance_after, is_counted, capability_id, grant_id, request_scope, deadline, next_at, currency_received,
      min_amount_out, amount_out, quote_id, purpose)
    SELECT transfer_id, peer, frame, sender_did, receiver_did, amount, currency, memo, 'reserved', expected_fee, backend, balance,
      is_counted, capability_id, grant_id, decode(request_scope, 'hex'), clock_timestamp() + make_interval(secs => deadline_seconds),
      clock_timestamp() + make_interval(secs => first_retry_seconds), currency_received, min_amount_out, amount_out, quote_id,
      purpose
    FROM line
  )
  SELECT l.place, jsonb_build_object('crossing', l.transfer_id) FROM line l;
END $$;
