-- Writing what orders have moved: transactions with their postings, and the events of both.
-- after: journal/appending.sql

-- Transactions, postings and events, by the number of the order in `done`; one LedgerBalanceChanged for each transaction, in
-- the order of their ids; the journal records a typed event beside it. The place 0 is the collector's where it is no party:
-- its balances are counted from what it had before.
CREATE OR REPLACE FUNCTION ledger_write_movements(frame text, currency text, collector text, has_more boolean, more jsonb[],
  done int[], given bigint[], debits text[], credits text[], messages text[], moved_amounts bigint[], fees bigint[],
  opened bigint[], account_ids bigint[], account_dids text[], debit_places int[], credit_places int[], collector_id bigint,
  collector_before bigint, first_posting int[], posting_of int[], posting_place int[], posting_bucket int[],
  posting_delta bigint[], posting_after bigint[])
RETURNS void LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  bucket_names CONSTANT text[] := '{liquid,staked,escrow,transit}';
  -- What orders other than transfers say, null where there are none.
  tx_types text[]; refs text[]; hold_ids bigint[]; is_held boolean[]; memos text[]; datas jsonb[]; freed bigint[];
BEGIN
  IF has_more THEN
    SELECT array_agg(t.tx_type), array_agg(t.own ->> 'ref'), array_agg(t.hold_id), array_agg(t.is_held),
      array_agg(t.own ->> 'memo'),
      array_agg(CASE WHEN NOT t.is_transfer THEN jsonb_build_object('frame', frame, 'tx_id', given[t.k], 'tx_type', t.tx_type,
        'currency', currency, 'fee', CASE WHEN t.is_held THEN '0' ELSE ledger_amount(t.price) END,
        'memo', coalesce(messages[done[t.k]], t.own ->> 'memo'), 'entries', (
          SELECT jsonb_agg(jsonb_build_object(
            'account', CASE posting_place[s] WHEN 0 THEN collector ELSE account_dids[posting_place[s]] END,
            'bucket', bucket_names[posting_bucket[s]], 'delta', ledger_amount(posting_delta[s]), 'balance_after',
            ledger_amount(posting_after[s] + CASE posting_place[s] WHEN 0 THEN collector_before ELSE 0 END)) ORDER BY s)
          FROM generate_series(t.first, t.last) s)) || CASE WHEN t.own ? 'counterparty_frame'
          THEN jsonb_build_object('counterparty_frame', t.own ->> 'counterparty_frame') ELSE '{}' END END),
      array_agg(CASE WHEN t.first + 2 < t.last AND t.price > 0 OR t.first + 1 < t.last AND t.price = 0
        THEN posting_delta[t.first + 2] END)
    INTO tx_types, refs, hold_ids, is_held, memos, datas, freed
    -- Each figure is written out once: without OFFSET the planner would write it out wherever it is used.
    FROM (SELECT k, own, coalesce(own ->> 'tx_type', 'transfer') AS tx_type, (own ->> 'fee' = 'held') IS TRUE AS is_held,
      coalesce((own ->> 'typed')::boolean, own IS NULL) AS is_transfer, fees[done[k]] AS price, first_posting[k] AS first,
      coalesce(opened[done[k]], (coalesce(own -> 'capture', own -> 'release') ->> 'id')::bigint) AS hold_id,
      coalesce(first_posting[k + 1], cardinality(posting_place) + 1) - 1 AS last
      FROM (SELECT n AS k, more[done[n]] AS own FROM generate_series(1, cardinality(done)) n OFFSET 0) d OFFSET 0) t;
  END IF;
  INSERT INTO ledger_transaction (id, tx_type, payer_id, payee_id, amount, fee, message, ref, hold_id)
  OVERRIDING SYSTEM VALUE
  SELECT given[k], coalesce(tx_types[k], 'transfer'), account_ids[debit_places[k]], account_ids[credit_places[k]],
    moved_amounts[done[k]], CASE WHEN is_held[k] THEN 0 ELSE fees[done[k]] END, messages[done[k]], refs[k], hold_ids[k]
  FROM generate_series(1, cardinality(done)) k;
  INSERT INTO ledger_posting (tx_id, account_id, bucket, delta, balance_after)
  SELECT given[posting_of[s]], CASE posting_place[s] WHEN 0 THEN collector_id ELSE account_ids[posting_place[s]] END,
    bucket_names[posting_bucket[s]], posting_delta[s],
    posting_after[s] + CASE posting_place[s] WHEN 0 THEN collector_before ELSE 0 END
  FROM generate_series(1, cardinality(posting_of)) s;
  PERFORM journal_append_movements(frame, currency, collector, given, done, debits, credits, moved_amounts, fees, messages,
    first_posting, posting_after, collector_before, tx_types, memos, datas, freed);
END $$;

-- The receipts that are remembered of orders that are more than a transfer and have a key, each with its place. Of a group
-- its first order has the key; its receipts are those of all.
CREATE OR REPLACE FUNCTION ledger_receipts(carried int[], scopes bytea[], more jsonb[], tx_ids bigint[],
  moved_amounts bigint[], fees bigint[], balances bigint[], opened bigint[], kept_answers text[], microseconds bigint)
RETURNS TABLE (place int, receipts text) LANGUAGE plpgsql AS $$
BEGIN
  RETURN QUERY SELECT i, (
    SELECT jsonb_agg(jsonb_build_array(tx_ids[o], moved_amounts[o], coalesce(fees[o], 0), coalesce(balances[o], 0),
      opened[o], microseconds, kept_answers[o]::jsonb) ORDER BY o)::text
    FROM unnest(carried) o WHERE o = i OR more[o] -> 'group' = more[i] -> 'group')
  FROM unnest(carried) i WHERE scopes[i] IS NOT NULL AND more[i] IS NOT NULL;
END $$;
