-- Holds, accounts and crossings as they are now, and empty results: once, and again for each group that is lost, as if
-- it had not been ordered.
DECLARE
  hold_captured bigint[]; hold_fee_captured bigint[]; hold_left bigint[]; hold_is_due boolean[]; hold_endings text[];
  hold_is_touched boolean[];
  -- Accounts in the order of their locks; four balances for each, by bucket.
  account_ids bigint[]; account_dids text[]; place_of jsonb; active boolean[]; funds bigint[]; floors bigint[];
  ceilings bigint[]; is_changed boolean[];
  -- Velocity of a payer: amounts sent and the largest balance in the minutes before this one, and in this one.
  pace_from int[]; pace_to int[]; past text[]; past_sent numeric[]; past_held bigint[]; now_sent bigint[];
  now_held bigint[]; is_paced boolean[];
  -- Crossings that the orders name, in the order of their keys.
  crossing_place jsonb; crossing_transits text[]; crossing_directions text[]; crossing_transfers uuid[];
  crossing_agents text[]; crossing_closed boolean[]; crossing_counterparties text[]; crossing_amounts bigint[];
  crossing_fees bigint[]; crossing_states text[]; crossing_txs bigint[]; crossing_returns bigint[];
  crossing_changed boolean[]; moved_by int[]; returned_by int[]; net_in_change numeric[]; net_in_before numeric[];
  -- Results of the orders.
  outcomes text[]; moved_amounts bigint[]; fees bigint[]; balances bigint[]; credited_balances bigint[]; tx_ids bigint[];
  opened bigint[]; opened_orders int[];
  -- Transactions in order, and their postings by the number of the transaction. A collector that is none of the parties
  -- stands last; its balance is known when its row is locked, after all others.
  done int[]; first_posting int[]; debit_places int[]; credit_places int[];
  posting_of int[]; posting_place int[]; posting_bucket int[]; posting_delta bigint[]; posting_after bigint[];
  collector_place int; fees_total bigint;
BEGIN
  IF hold_ids IS NOT NULL THEN
    SELECT array_agg(l.captured ORDER BY l.id), array_agg(l.fee_captured ORDER BY l.id),
      array_agg(l.remaining ORDER BY l.id),
      array_agg((l.frozen_at IS NULL AND l.expires_at <= clock_timestamp()) IS TRUE ORDER BY l.id)
    INTO hold_captured, hold_fee_captured, hold_left, hold_is_due
    FROM ledger_hold l WHERE l.id = ANY (hold_ids);
    hold_endings := array_fill(NULL::text, ARRAY[cardinality(hold_ids)]);
    hold_is_touched := array_fill(false, ARRAY[cardinality(hold_ids)]);
  END IF;
  SELECT array_agg(l.id), array_agg(l.did), jsonb_object_agg(l.did, l.place), array_agg(l.status = 'active'),
    array_agg(ARRAY[l.liquid, l.staked, l.escrow, l.transit]), array_agg(l.transit_floor),
    array_agg(l.transit_ceiling), array_agg(before.first), array_agg(l.size - l.of_now),
    array_agg(coalesce(before.sent, 0)), array_agg(coalesce(before.held, 0)),
    array_agg(CASE WHEN l.of_now = 3 THEN l.pace[l.size - 1] ELSE 0 END),
    array_agg(CASE WHEN l.of_now = 3 THEN l.pace[l.size] ELSE 0 END)
  INTO account_ids, account_dids, place_of, active, funds, floors, ceilings, pace_from, pace_to, past_sent, past_held,
    now_sent, now_held
  FROM (
    SELECT a.*, a.ordinality AS place, cardinality(a.pace) AS size,
      CASE WHEN a.pace[cardinality(a.pace) - 2] = this_minute THEN 3 ELSE 0 END AS of_now
    FROM unnest(accounts) WITH ORDINALITY a
  ) l
  LEFT JOIN LATERAL (
    SELECT sum(l.pace[n + 1]::numeric) AS sent, max(l.pace[n + 2]) AS held, min(n) AS first
    FROM generate_series(1, l.size - l.of_now, 3) n
    WHERE l.size > l.of_now AND l.did = ANY (payers) AND l.pace[n] > this_minute - 60
  ) before ON true;
  is_changed := array_fill(false, ARRAY[coalesce(cardinality(account_ids), 0)]);
  IF crossing_orders <> '{}' THEN
    SELECT jsonb_object_agg(c.key, c.place), array_agg(c.transit ORDER BY c.key), array_agg(c.direction ORDER BY c.key),
      array_agg(c.transfer_id ORDER BY c.key), array_agg(c.agent ORDER BY c.key), array_agg(c.is_closed ORDER BY c.key),
      array_agg(c.counterparty ORDER BY c.key), array_agg(c.amount ORDER BY c.key), array_agg(c.fee ORDER BY c.key),
      array_agg(c.state ORDER BY c.key), array_agg(c.tx_id ORDER BY c.key), array_agg(c.return_tx_id ORDER BY c.key),
      array_agg(false), array_agg(NULL::int), array_agg(NULL::int)
    INTO crossing_place, crossing_transits, crossing_directions, crossing_transfers, crossing_agents, crossing_closed,
      crossing_counterparties, crossing_amounts, crossing_fees, crossing_states, crossing_txs, crossing_returns,
      crossing_changed, moved_by, returned_by
    FROM (SELECT n.*, row_number() OVER (ORDER BY n.key) AS place FROM ledger_named_crossings(crossing_orders, more) n) c;
    net_in_change := array_fill(0::numeric, ARRAY[coalesce(cardinality(account_ids), 0)]);
    net_in_before := array_fill(NULL::numeric, ARRAY[coalesce(cardinality(account_ids), 0)]);
  END IF;
  is_paced := is_changed;
  past := array_fill(NULL::text, ARRAY[cardinality(is_changed)]);
  collector_place := (place_of ->> collector)::int;
  fees_total := 0;
  outcomes := known;
  moved_amounts := amounts;
  fees := array_fill(NULL::bigint, ARRAY[size]);
  balances := fees; credited_balances := fees; tx_ids := fees; opened := fees;
  FOR n IN 1 .. cardinality(lost_at) LOOP
    outcomes[lost_at[n]] := lost_outcomes[n];
    fees[lost_at[n]] := lost_fees[n];
    balances[lost_at[n]] := lost_balances[n];
  END LOOP;
  done := '{}'; opened_orders := '{}'; debit_places := '{}'; credit_places := '{}'; first_posting := '{}';
  posting_of := '{}'; posting_place := '{}'; posting_bucket := '{}'; posting_delta := '{}'; posting_after := '{}';
