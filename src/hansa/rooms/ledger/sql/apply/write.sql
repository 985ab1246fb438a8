-- Balances, transactions, postings, holds and crossings are written; the row of a fee collector is locked last. Of the accounts that
-- collect fees the first is taken that no other transaction holds until its commit, so that commits wait for the log together.
DECLARE
  receipts text[]; named_collector CONSTANT text := collector; collector_tid tid; collector_id bigint; collector_before bigint; written int; given bigint[];
BEGIN
  receipts := array_fill(NULL::text, ARRAY[size]);
  IF done <> '{}' THEN
    -- The last row that is locked. The ids are drawn after that: they rise in the order in which its balance changes.
    collector_before := 0;
    IF fees_total > 0 THEN
      SELECT a.ctid, a.id, a.liquid, a.did INTO collector_tid, collector_id, collector_before, collector
      FROM ledger_account a WHERE a.did = ANY (ledger_collectors(collector)) AND a.unit = ''
      ORDER BY a.id LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED;
      IF NOT FOUND THEN
        SELECT a.ctid, a.id, a.liquid, a.did INTO STRICT collector_tid, collector_id, collector_before, collector
        FROM ledger_account a WHERE a.did = named_collector AND a.unit = '' FOR NO KEY UPDATE;
      END IF;
      account_tids := account_tids || collector_tid;
      is_changed := is_changed || true;
    END IF;
    -- Locked rows stay where they are; the collector's has no place in `funds`.
    UPDATE ledger_account a SET liquid = coalesce(funds[c.place][1], collector_before + fees_total),
      staked = coalesce(funds[c.place][2], a.staked), escrow = coalesce(funds[c.place][3], a.escrow),
      transit = coalesce(funds[c.place][4], a.transit),
      pace = CASE WHEN is_paced[c.place]
        THEN a.pace[pace_from[c.place] : pace_to[c.place]] || past[c.place]::bigint[]
          || ARRAY[this_minute, now_sent[c.place], now_held[c.place]]
        ELSE a.pace END
    FROM generate_series(1, cardinality(account_tids)) AS c (place)
    WHERE a.ctid = account_tids[c.place] AND is_changed[c.place];
    GET DIAGNOSTICS written = ROW_COUNT;
    IF written <> cardinality(array_positions(is_changed, true)) THEN
      RAISE EXCEPTION 'a locked account has moved' USING ERRCODE = 'serialization_failure';
    END IF;
    given := ARRAY(SELECT nextval('ledger_transaction_id_seq') FROM generate_series(1, cardinality(done)));
    FOR k IN 1 .. cardinality(done) LOOP
      tx_ids[done[k]] := given[k];
      IF more[done[k]] IS NULL THEN
        receipts[done[k]] := concat_ws(' ', given[k], fees[done[k]], balances[done[k]], microseconds);
      END IF;
    END LOOP;
    IF opened_orders <> '{}' THEN
      opened := ledger_open_holds(opened, opened_orders, more, amounts, fees, ARRAY(
        SELECT account_ids[(place_of ->> debits[o])::int] FROM unnest(opened_orders) WITH ORDINALITY AS w (o, n) ORDER BY n));
    END IF;
    IF true = ANY (hold_is_touched) THEN
      PERFORM ledger_update_holds(hold_ids, hold_is_touched, hold_captured, hold_fee_captured, hold_left, hold_endings);
    END IF;
    PERFORM ledger_write_movements(frame, currency, collector, has_more, more, done, given, debits, credits, messages,
      moved_amounts, fees, opened, account_ids, account_dids, debit_places, credit_places, collector_id, collector_before,
      first_posting, posting_of, posting_place, posting_bucket, posting_delta, posting_after);
  END IF;
  IF crossing_orders <> '{}' THEN
    FOR n IN 1 .. cardinality(crossing_states) LOOP
      crossing_txs[n] := coalesce(tx_ids[moved_by[n]], crossing_txs[n]);
      crossing_returns[n] := coalesce(tx_ids[returned_by[n]], crossing_returns[n]);
    END LOOP;
    PERFORM ledger_write_crossings(crossing_transits, crossing_directions, crossing_transfers, crossing_agents,
      crossing_counterparties, crossing_amounts, crossing_fees, crossing_states, crossing_changed, crossing_txs,
      crossing_returns);
    tx_ids := ledger_repeated_txs(tx_ids, crossing_orders, outcomes, more, crossing_place, crossing_txs, crossing_returns);
  END IF;
