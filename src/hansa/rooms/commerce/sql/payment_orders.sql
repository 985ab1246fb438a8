-- Payment tokens in the commit of the ledger's orders: the extensions commerce_authorize, commerce_settle and
-- commerce_release (ledger/sql/extensions.sql says how they are called).
-- after: agents/owners.sql
-- after: commerce/counts.sql
-- after: journal/appending.sql
-- after: ledger/cover.sql
-- after: ledger/fees.sql

-- The slots of a caller in which no authorized token is. Without settings of its own, so that it becomes part of the query.
CREATE OR REPLACE FUNCTION commerce_free_slots(agent text) RETURNS TABLE (slots int[])
LANGUAGE sql STABLE AS $$
  SELECT ARRAY(SELECT n FROM generate_series(1, 20) n WHERE n <> ALL (ARRAY(
    SELECT t.slot FROM commerce_payment_token t
    WHERE t.caller = agent AND t.status = 'authorized' AND t.slot IS NOT NULL)))
$$;

-- Write an authorized token into a free slot of its caller, as `new` describes it. Slots of tokens whose time is over are
-- free: such a token leaves its slot and is ended later. Refusals: SLOTS_TAKEN, QUOTE_USED.
CREATE OR REPLACE FUNCTION commerce_new_token(new jsonb, OUT refusal text, OUT created_at timestamptz,
  OUT expires_at timestamptz)
LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan SET enable_seqscan = off AS $$
#variable_conflict use_column
DECLARE
  slots_max CONSTANT int := 20;
BEGIN
  LOOP
    -- The unique key decides who has a slot: a rival that took it first leaves no row here.
    INSERT INTO commerce_payment_token AS t (id, token_sha256, caller, payee, amount, slot, capture_by, is_reserved,
      fixed_fee, quote_id, contract_id, resource, request_digest, is_counted, capability_id, grant_id,
      expires_at)
    SELECT (new ->> 'id')::uuid, decode(new ->> 'token_sha256', 'base64'), new ->> 'caller', new ->> 'payee',
      (new ->> 'amount')::bigint, free.slot, new ->> 'capture_by', (new ->> 'is_reserved')::boolean,
      (new ->> 'fixed_fee')::bigint, (new ->> 'quote_id')::uuid, (new ->> 'contract_id')::bigint, new ->> 'resource',
      new ->> 'request_digest', (new ->> 'is_counted')::boolean, (new ->> 'capability_id')::uuid,
      (new ->> 'grant_id')::uuid,
      now() + make_interval(secs => (new ->> 'ttl_seconds')::float)
    FROM (SELECT n AS slot FROM commerce_free_slots(new ->> 'caller') f, unnest(f.slots) n ORDER BY random() LIMIT 1) free
    ON CONFLICT DO NOTHING RETURNING t.created_at, t.expires_at INTO created_at, expires_at;
    IF FOUND THEN
      RETURN;
    END IF;
    IF new ->> 'quote_id' IS NOT NULL
      AND EXISTS (SELECT FROM commerce_payment_token t WHERE t.quote_id = (new ->> 'quote_id')::uuid) THEN
      refusal := 'QUOTE_USED';
      RETURN;
    END IF;
    CONTINUE WHEN slots_max > (SELECT count(*) FROM commerce_payment_token t
      WHERE t.caller = new ->> 'caller' AND t.status = 'authorized' AND t.slot IS NOT NULL);
    UPDATE commerce_payment_token SET slot = NULL WHERE id IN (
      SELECT id FROM commerce_payment_token t WHERE t.caller = new ->> 'caller' AND t.status = 'authorized'
        AND t.slot IS NOT NULL AND t.expires_at < clock_timestamp() ORDER BY id FOR NO KEY UPDATE);
    IF NOT FOUND THEN
      refusal := 'SLOTS_TAKEN';
      RETURN;
    END IF;
  END LOOP;
END $$;

-- Authorize tokens. A payload is what `commerce_new_token` takes, with `required` and `sealed`: the payee has to be an
-- active agent and the caller's balance at least `required`, else the refusal is NOT_PLAIN. The result has the
-- expiry of the token, and `sealed` as it was given.
CREATE OR REPLACE FUNCTION commerce_authorize_claim(lines jsonb) RETURNS TABLE (place int, refusal text, result jsonb)
LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan SET enable_seqscan = off AS $$
#variable_conflict use_column
DECLARE
  places int[];
  refusals text[];
  payloads jsonb[];
  endings timestamptz[];
  made record;
  first_slot CONSTANT int := floor(random() * 20);
BEGIN
  WITH line AS (
    -- Member by member: to make a record of them takes a fifth more, and half more for one.
    SELECT p.place, p.payload, (p.payload ->> 'id')::uuid AS id, p.payload ->> 'caller' AS caller,
      p.payload ->> 'payee' AS payee, (p.payload ->> 'required')::bigint AS required
    FROM (
      SELECT (l ->> 'place')::int AS place, l -> 'payload' AS payload FROM jsonb_array_elements(lines) l OFFSET 0
    ) p
  ), plain AS MATERIALIZED (
    -- The free slots are searched here: they become part of the query, once for each place where they are named.
    SELECT l.*, free.slots, row_number() OVER (PARTITION BY l.caller ORDER BY l.place) AS rank
    FROM line l CROSS JOIN commerce_free_slots(l.caller) free
    WHERE EXISTS (SELECT FROM agents_known(l.payee) a WHERE a.status = 'active')
      AND EXISTS (SELECT FROM ledger_active(l.caller) a WHERE a.liquid >= l.required)
      AND EXISTS (SELECT FROM ledger_active(l.payee))
  ), placed AS (
    -- From another slot on in each batch, so that two processes seldom try the same one.
    SELECT n.*, n.slots[1 + (first_slot + n.rank) % nullif(cardinality(n.slots), 0)] AS slot FROM plain n
  ), written AS (
    -- By caller: no two batches wait for each other's slots in a ring.
    INSERT INTO commerce_payment_token AS t (id, token_sha256, caller, payee, amount, slot, capture_by, contract_id,
      resource, request_digest, expires_at)
    SELECT n.id, decode(n.payload ->> 'token_sha256', 'base64'), n.caller, n.payee, (n.payload ->> 'amount')::bigint, n.slot,
      n.payload ->> 'capture_by', (n.payload ->> 'contract_id')::bigint, n.payload ->> 'resource',
      n.payload ->> 'request_digest', now() + make_interval(secs => (n.payload ->> 'ttl_seconds')::float)
    FROM placed n WHERE n.slot IS NOT NULL ORDER BY n.caller, n.place
    ON CONFLICT DO NOTHING RETURNING t.id, t.expires_at
  )
  SELECT array_agg(o.place), array_agg(o.refusal), array_agg(o.payload), array_agg(o.expires_at)
  INTO places, refusals, payloads, endings
  FROM (
    SELECT l.place, CASE WHEN n.id IS NULL THEN 'NOT_PLAIN' END AS refusal, l.payload, w.expires_at
    FROM line l LEFT JOIN plain n ON n.id = l.id LEFT JOIN written w ON w.id = l.id ORDER BY l.caller, l.place
  ) o;
  -- Nearly every token got the slot that was free a moment before; the others search one.
  FOR n IN 1 .. cardinality(places) LOOP
    IF endings[n] IS NULL AND refusals[n] IS NULL THEN
      made := commerce_new_token(payloads[n]);
      refusals[n] := made.refusal;
      endings[n] := made.expires_at;
    END IF;
  END LOOP;
  RETURN QUERY SELECT r.place, r.refusal, jsonb_build_object('expires_at', r.expires_at, 'sealed', r.payload -> 'sealed')
  FROM unnest(places, refusals, payloads, endings) AS r (place, refusal, payload, expires_at);
END $$;

-- Lock the tokens that these lines name, in the order of their ids. Returns the places of the lines whose token is not in
-- one of these statuses, or has expired, or is named by an earlier line. Of a token that is `begun` the caller has the lock
-- and judged it; it is paid whatever the clock says.
CREATE OR REPLACE FUNCTION commerce_lock_open(lines jsonb, statuses text[]) RETURNS int[]
LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan SET enable_seqscan = off AS $$
DECLARE
  places int[];
  named uuid[];
  begun uuid[];
  taken uuid[];
BEGIN
  SELECT array_agg(l.place), array_agg(l.id), array_agg(l.id) FILTER (WHERE l.begun) INTO places, named, begun
  FROM (
    SELECT (e ->> 'place')::int AS place, (e -> 'payload' ->> 'token_id')::uuid AS id,
      (e -> 'payload' ->> 'begun')::boolean AS begun
    FROM jsonb_array_elements(lines) e ORDER BY 1
  ) l;
  -- A row that a rival changed while its lock was waited for is returned as the rival left it.
  taken := ARRAY(
    WITH locked AS MATERIALIZED (
      SELECT t.id, t.status, t.expires_at FROM commerce_payment_token t WHERE t.id = ANY (named) ORDER BY t.id FOR NO KEY UPDATE
    )
    SELECT l.id FROM locked l WHERE CASE WHEN l.id = ANY (begun) THEN l.status IN ('authorized', 'consumed', 'settling')
      ELSE l.status = ANY (statuses) AND clock_timestamp() <= l.expires_at END);
  IF cardinality(taken) = cardinality(named) THEN
    RETURN '{}';
  END IF;
  RETURN ARRAY(SELECT places[n] FROM generate_subscripts(named, 1) n
    WHERE named[n] <> ALL (taken) OR array_position(named, named[n]) < n);
END $$;

-- Settle tokens with the payments that their lines order. A payload: {token_id, frame, currency, task_id, capture_amount,
-- begun, is_part}; the last four may be absent. Refusal: NOT_OPEN. The result has `ended_at` and `counts`.
CREATE OR REPLACE FUNCTION commerce_settle_claim(lines jsonb) RETURNS TABLE (place int, refusal text, result jsonb)
LANGUAGE plpgsql AS $$
DECLARE
  refused int[] := commerce_lock_open(lines, '{authorized,consumed}');
BEGIN
  IF refused <> '{}' THEN
    RETURN QUERY SELECT n, 'NOT_OPEN', NULL::jsonb FROM unnest(refused) n;
  END IF;
END $$;

CREATE OR REPLACE FUNCTION commerce_settle_record(lines jsonb) RETURNS TABLE (place int, result jsonb)
LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan SET enable_seqscan = off AS $$
#variable_conflict use_column
BEGIN
  RETURN QUERY
  WITH line AS (
    SELECT p.place, p.tx_id, p.moved, p.fee, (p.payload ->> 'token_id')::uuid AS token_id, p.payload ->> 'frame' AS frame,
      p.payload ->> 'currency' AS currency, p.payload ->> 'task_id' AS task_id,
      (p.payload ->> 'capture_amount')::bigint AS capture_amount, (p.payload ->> 'is_part')::boolean AS is_part
    FROM (
      SELECT (e ->> 'place')::int AS place, (e ->> 'tx_id')::bigint AS tx_id, (e ->> 'moved')::bigint AS moved,
        (e ->> 'fee')::bigint AS fee, e -> 'payload' AS payload FROM jsonb_array_elements(lines) e OFFSET 0
    ) p
  ), settled AS (
    UPDATE commerce_payment_token t SET status = 'settled', ended_at = clock_timestamp(), tx_id = l.tx_id, fee = l.fee,
      counts = l.is_part IS NOT TRUE AND (SELECT n.counts FROM commerce_counted(t.caller, t.payee) n),
      settling_at = coalesce(t.settling_at, clock_timestamp()),
      task_id = coalesce(l.task_id, t.task_id), capture_amount = coalesce(l.capture_amount, t.capture_amount)
    FROM line l WHERE t.id = l.token_id AND t.status IN ('authorized', 'consumed', 'settling')
    RETURNING l.place, t.caller, concat('ledger-tx-', l.frame, '-', l.tx_id, '-payment') AS key,
      jsonb_build_object('ended_at', t.ended_at, 'counts', t.counts) AS result,
      jsonb_build_object('token_id', t.id, 'tx_id', t.tx_id, 'caller', t.caller, 'payee', t.payee, 'amount',
        ledger_amount(l.moved), 'currency', l.currency, 'task_id', t.task_id, 'fee', ledger_amount(t.fee), 'counts',
        t.counts) AS data
  ), ended AS MATERIALIZED (
    SELECT s.* FROM settled s ORDER BY s.place
  ), noted AS MATERIALIZED (
    SELECT journal_append_decided(array_agg('A2APaymentSettled'::text), array_agg(d.caller), array_agg('agent'::text),
      array_agg(d.data), array_agg('ledger'::text), array_agg(d.key)) FROM ended d
  )
  SELECT d.place, d.result FROM ended d CROSS JOIN noted;
END $$;

-- Release tokens that are authorized, with what their lines free of their holds. A payload: {token_id}. Refusal: NOT_OPEN.
-- The result has `ended_at`. The claim changes the status: a settlement of the same token in this batch, which is claimed
-- after it, then finds the token released.
CREATE OR REPLACE FUNCTION commerce_release_claim(lines jsonb) RETURNS TABLE (place int, refusal text, result jsonb)
LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan SET enable_seqscan = off AS $$
#variable_conflict use_column
DECLARE
  refused int[] := commerce_lock_open(lines, '{authorized}');
BEGIN
  UPDATE commerce_payment_token t SET status = 'released', ended_at = clock_timestamp()
  FROM jsonb_array_elements(lines) l
  WHERE t.id = (l -> 'payload' ->> 'token_id')::uuid AND (l ->> 'place')::int <> ALL (refused) AND t.status = 'authorized';
  IF refused <> '{}' THEN
    RETURN QUERY SELECT n, 'NOT_OPEN', NULL::jsonb FROM unnest(refused) n;
  END IF;
END $$;

CREATE OR REPLACE FUNCTION commerce_release_record(lines jsonb) RETURNS TABLE (place int, result jsonb)
LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan SET enable_seqscan = off AS $$
#variable_conflict use_column
BEGIN
  RETURN QUERY SELECT (l ->> 'place')::int, jsonb_build_object('ended_at', t.ended_at)
  FROM jsonb_array_elements(lines) l JOIN commerce_payment_token t ON t.id = (l -> 'payload' ->> 'token_id')::uuid
  WHERE t.status = 'released';
END $$;
