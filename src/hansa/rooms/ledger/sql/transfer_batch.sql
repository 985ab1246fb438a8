-- A batch of transfers in one statement. `rules.py` decides the same for a single transfer: change both.
-- after: plumbing/remembered_answers.sql
-- after: journal/appending.sql
-- after: ledger/fees.sql

-- Decide and write transfers in their order, each seeing the effect of the earlier ones; one row for each, in order.
-- An order: {payer, payee, amount, message, scope, digest, barred}; scope and digest are hex, or null without a key; a
-- barred order is refused unless its key has an answer already. Outcomes: posted (with transaction, fee and the payer's
-- balance), replayed (with the kept answer), uncovered (with fee and the payer's balance), and the other refusals.
CREATE OR REPLACE FUNCTION ledger_transfer_batch(frame text, currency text, collector text, policy bigint[], orders json,
  window_hours int)
RETURNS TABLE (outcome text, tx_id bigint, fee bigint, balance bigint, answer text, recorded_at timestamptz)
-- Planned once, and right for a table of any size: every table is reached by its keys.
LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_material = off
SET enable_hashjoin = off SET enable_mergejoin = off AS $$
#variable_conflict use_column
DECLARE
  this_minute int := (extract(epoch FROM now()) / 60)::int;
  payers text[]; payees text[]; amounts bigint[]; messages text[];
  scopes bytea[]; digests bytea[]; barred boolean[];
  held boolean[]; kept_digests bytea[]; kept_answers text[];
  outcomes text[]; fees bigint[]; balances bigint[];
  parties text[] := '{}'; senders text[] := '{}'; is_sender jsonb;
  -- The locked accounts, by their place in id order. A payer's pace: what it sent in the minutes before this one.
  account_ids bigint[]; place_of jsonb; active boolean[]; funds bigint[];
  past text[]; past_sent numeric[]; past_held bigint[]; now_sent bigint[]; now_held bigint[];
  -- What is written, in order.
  done int[] := '{}'; payer_places int[] := '{}'; payee_places int[] := '{}';
  payee_balances bigint[] := '{}'; collected bigint[] := '{}';
  collector_id bigint; collector_before bigint := 0; fees_total bigint := 0;
  tx_ids bigint[]; given bigint[];
  amount bigint; price bigint; rest bigint; sent numeric; most_held bigint; p int; q int; recorded bigint;
BEGIN
  SELECT array_agg(o.payer), array_agg(o.payee), array_agg(o.amount), array_agg(o.message),
    array_agg(decode(o.scope, 'hex')), array_agg(decode(o.digest, 'hex')), array_agg(o.barred)
  INTO payers, payees, amounts, messages, scopes, digests, barred
  FROM json_to_recordset(orders)
    AS o (payer text, payee text, amount bigint, message text, scope text, digest text, barred boolean);
  SELECT r.held, r.body_digests, r.answers INTO held, kept_digests, kept_answers
  FROM plumbing_recall(scopes, window_hours) r;
  outcomes := array_fill(NULL::text, ARRAY[cardinality(payers)]);
  fees := array_fill(NULL::bigint, ARRAY[cardinality(payers)]);
  balances := fees;
  tx_ids := fees;

  FOR i IN 1 .. cardinality(payers) LOOP
    IF NOT held[i] THEN
      outcomes[i] := 'key_in_progress';
    ELSIF kept_digests[i] IS NOT NULL THEN
      outcomes[i] := CASE WHEN kept_digests[i] = digests[i] THEN 'replayed' ELSE 'key_reused' END;
    ELSIF barred[i] THEN
      outcomes[i] := 'barred';
    ELSE
      parties := parties || payers[i] || payees[i];
      senders := senders || payers[i];
    END IF;
  END LOOP;

  is_sender := (SELECT jsonb_object_agg(sender, true) FROM unnest(senders) sender);
  WITH locked AS MATERIALIZED (
    SELECT a.id, a.did, a.status = 'active' AS is_active, a.liquid, a.pace
    FROM ledger_account a WHERE a.did = ANY (parties) ORDER BY a.id FOR NO KEY UPDATE
  ), paced AS (
    SELECT l.*, cardinality(l.pace) AS size,
      CASE WHEN cardinality(l.pace) > 0 AND l.pace[cardinality(l.pace) - 2] = this_minute THEN 3 ELSE 0 END AS of_now
    FROM locked l
  )
  SELECT array_agg(l.id), jsonb_object_agg(l.did, l.place), array_agg(l.is_active), array_agg(l.liquid),
    array_agg(before.past), array_agg(coalesce(before.sent, 0)),
    array_agg(coalesce(before.held, 0)),
    array_agg(CASE WHEN l.of_now = 3 THEN l.pace[l.size - 1] ELSE 0 END),
    array_agg(CASE WHEN l.of_now = 3 THEN l.pace[l.size] ELSE 0 END)
  INTO account_ids, place_of, active, funds, past, past_sent, past_held, now_sent, now_held
  FROM (SELECT p.*, row_number() OVER (ORDER BY p.id) AS place FROM paced p ORDER BY place) l
  LEFT JOIN LATERAL (
    SELECT sum(l.pace[n + 1]::numeric) AS sent, max(l.pace[n + 2]) AS held,
      array_to_string(l.pace[min(n) : l.size - l.of_now], ',') || ',' AS past
    FROM generate_series(1, l.size - l.of_now, 3) n WHERE l.pace[n] > this_minute - 60
  ) before ON is_sender ? l.did;

  FOR i IN 1 .. cardinality(payers) LOOP
    CONTINUE WHEN outcomes[i] IS NOT NULL;
    p := (place_of -> payers[i])::int;
    q := (place_of -> payees[i])::int;
    amount := amounts[i];
    IF p IS NULL OR q IS NULL THEN
      outcomes[i] := CASE WHEN p IS NULL THEN 'payer_unknown' ELSE 'payee_unknown' END;
      CONTINUE;
    END IF;
    IF NOT (active[p] AND active[q]) THEN
      outcomes[i] := CASE WHEN active[p] THEN 'payee_suspended' ELSE 'payer_suspended' END;
      CONTINUE;
    END IF;
    sent := past_sent[p] + now_sent[p];
    most_held := greatest(funds[p], past_held[p], now_held[p]);
    IF sent <= div(most_held * policy[5]::numeric, policy[6]) THEN
      -- Nearly every transfer stands here. Half to even; amount times numerator fits, as the amount is at most 10^18.
      price := amount * policy[1] / policy[2];
      rest := 2 * (amount * policy[1] % policy[2]);
      IF rest > policy[2] OR rest = policy[2] AND price % 2 = 1 THEN
        price := price + 1;
      END IF;
    ELSE
      price := ledger_fee_of_hot_payer(amount, sent, most_held, policy);
    END IF;
    fees[i] := price;
    IF funds[p] < amount + price THEN
      outcomes[i] := 'uncovered';
      balances[i] := funds[p];
      CONTINUE;
    END IF;
    -- A large share of the supply that goes round and round passes 64 bits: the minute then gets another entry.
    IF amount > 9223372036854775807 - now_sent[p] THEN
      past[p] := concat(past[p], this_minute, ',', now_sent[p], ',', now_held[p], ',');
      past_sent[p] := past_sent[p] + now_sent[p];
      past_held[p] := greatest(past_held[p], now_held[p]);
      now_sent[p] := 0;
      now_held[p] := 0;
    END IF;
    now_sent[p] := now_sent[p] + amount;
    now_held[p] := greatest(now_held[p], funds[p]);
    funds[p] := funds[p] - amount - price;
    funds[q] := funds[q] + amount;
    fees_total := fees_total + price;
    outcomes[i] := 'posted';
    balances[i] := funds[p];
    done := done || i;
    payer_places := payer_places || p;
    payee_places := payee_places || q;
    payee_balances := payee_balances || funds[q];
    collected := collected || fees_total;
  END LOOP;

  IF cardinality(done) > 0 THEN
    UPDATE ledger_account a SET liquid = c.liquid,
      pace = CASE WHEN c.place = ANY (payer_places)
        THEN concat('{', c.past, this_minute, ',', c.sent, ',', c.held, '}')::bigint[] ELSE a.pace END
    FROM unnest(account_ids, funds, past, now_sent, now_held) WITH ORDINALITY
      AS c (id, liquid, past, sent, held, place)
    WHERE a.id = c.id AND (c.place = ANY (payer_places) OR c.place = ANY (payee_places));
    -- The ids are drawn after this row is locked: they rise in the order in which the collector's balance changes.
    IF fees_total > 0 THEN
      UPDATE ledger_account a SET liquid = a.liquid + fees_total WHERE a.did = collector
      RETURNING a.id, a.liquid - fees_total INTO STRICT collector_id, collector_before;
    END IF;
    given := ARRAY(SELECT nextval('ledger_transaction_id_seq') FROM generate_series(1, cardinality(done)));
    FOR k IN 1 .. cardinality(done) LOOP
      tx_ids[done[k]] := given[k];
    END LOOP;
    INSERT INTO ledger_transaction (id, tx_type, payer_id, payee_id, amount, fee, message) OVERRIDING SYSTEM VALUE
    SELECT given[k], 'transfer', account_ids[payer_places[k]], account_ids[payee_places[k]], amounts[done[k]],
      fees[done[k]], messages[done[k]]
    FROM generate_series(1, cardinality(done)) k;
    -- Crossed with numbers, not with VALUES: their expressions would be prepared anew for every row.
    INSERT INTO ledger_posting (tx_id, account_id, bucket, delta, balance_after)
    SELECT given[k],
      CASE side WHEN 1 THEN account_ids[payer_places[k]] WHEN 2 THEN account_ids[payee_places[k]] ELSE collector_id END,
      'liquid',
      CASE side WHEN 1 THEN -(amounts[done[k]] + fees[done[k]]) WHEN 2 THEN amounts[done[k]] ELSE fees[done[k]] END,
      CASE side WHEN 1 THEN balances[done[k]] WHEN 2 THEN payee_balances[k] ELSE collector_before + collected[k] END
    FROM generate_series(1, cardinality(done)) k CROSS JOIN generate_series(1, 3) side
    WHERE side < 3 OR fees[done[k]] > 0;
    SELECT journal_append(array_agg(e.event_type), array_agg(e.aggregate_id), array_agg(e.aggregate_type),
      array_agg(e.data), array_agg('ledger'::text), array_agg(e.key)) INTO recorded
    FROM (
      SELECT t.payer_did AS aggregate_id,
        CASE kind WHEN 1 THEN 'LedgerBalanceChanged' WHEN 2 THEN 'TokensTransferred'
          ELSE 'TransactionFeeCollected' END AS event_type,
        CASE kind WHEN 1 THEN 'ledger_transaction' ELSE 'agent' END AS aggregate_type,
        CASE kind WHEN 1 THEN concat('ledger-tx-', frame, '-', t.tx_id) END AS key,
        (CASE kind
          WHEN 1 THEN concat('{"frame":', to_json(frame), ',"tx_id":', t.tx_id, ',"tx_type":"transfer","currency":',
            to_json(currency), ',"fee":"', t.fee_paid, '","memo":', t.message, ',"entries":[',
            '{"account":', t.payer, ',"bucket":"liquid","delta":"-', t.charged, '","balance_after":"', t.payer_after,
            '"},{"account":', t.payee, ',"bucket":"liquid","delta":"', t.paid, '","balance_after":"', t.payee_after,
            CASE WHEN t.has_fee THEN concat('"},{"account":', to_json(collector), ',"bucket":"liquid","delta":"',
              t.fee_paid, '","balance_after":"', t.collector_after) END, '"}]}')
          WHEN 2 THEN concat('{"tx_id":', t.tx_id, ',"from":', t.payer, ',"to":', t.payee, ',"amount":"', t.paid,
            '","fee":"', t.fee_paid, '","currency":', to_json(currency), ',"message":', t.message, '}')
          ELSE concat('{"tx_id":', t.tx_id, ',"payer":', t.payer, ',"collector":', to_json(collector), ',"fee":"',
            t.fee_paid, '","currency":', to_json(currency), '}')
        END)::jsonb AS data
      -- Each figure is written out once: without OFFSET the planner would write it out wherever it is used.
      FROM (SELECT given[k] AS tx_id, payers[done[k]] AS payer_did, to_json(payers[done[k]]) AS payer,
        to_json(payees[done[k]]) AS payee, coalesce(to_json(messages[done[k]])::text, 'null') AS message,
        fees[done[k]] > 0 AS has_fee, ledger_amount(amounts[done[k]]) AS paid, ledger_amount(fees[done[k]]) AS fee_paid,
        ledger_amount(amounts[done[k]] + fees[done[k]]) AS charged, ledger_amount(balances[done[k]]) AS payer_after,
        ledger_amount(payee_balances[k]) AS payee_after,
        ledger_amount(collector_before + collected[k]) AS collector_after
        FROM generate_series(1, cardinality(done)) k OFFSET 0) t
      CROSS JOIN generate_series(1, 3) kind WHERE kind < 3 OR t.has_fee ORDER BY t.tx_id, kind) e;
    IF recorded < 3 * cardinality(done) AND journal_undecided(
      ARRAY['LedgerBalanceChanged', 'TokensTransferred', 'TransactionFeeCollected'], array_fill('ledger'::text, ARRAY[3])
    ) <> '{}' THEN
      -- Each transfer of the batch is then judged alone.
      RAISE EXCEPTION 'no emission policy says whether the events of a transfer are recorded';
    END IF;
    PERFORM plumbing_remember(array_agg(scopes[i]), array_agg(digests[i]), array_agg(concat_ws(' ', tx_ids[i],
      fees[i], balances[i], (extract(epoch FROM now()) * 1000000)::bigint)))
    FROM unnest(done) i WHERE scopes[i] IS NOT NULL;
  END IF;
  RETURN QUERY SELECT *, now() FROM unnest(outcomes, tx_ids, fees, balances, kept_answers);
END $$;
