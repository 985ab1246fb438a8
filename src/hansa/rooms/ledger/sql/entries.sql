-- Writing what orders have moved: transactions with their postings, and the events of both.
-- after: journal/appending.sql

-- Transactions and postings, by the number of the order in `done`. The place 0 is the collector's where it is no party:
-- its balances are counted from what it had before.
CREATE OR REPLACE FUNCTION ledger_write_entries(more jsonb[], done int[], given bigint[], messages text[],
  moved_amounts bigint[], fees bigint[], opened bigint[], account_ids bigint[], debit_places int[], credit_places int[],
  collector_id bigint, collector_before bigint, posting_of int[], posting_place int[], posting_bucket int[],
  posting_delta bigint[], posting_after bigint[])
RETURNS void LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  bucket_names CONSTANT text[] := '{liquid,staked,escrow,transit}';
BEGIN
  INSERT INTO ledger_transaction (id, tx_type, payer_id, payee_id, amount, fee, message, ref, hold_id)
  OVERRIDING SYSTEM VALUE
  SELECT given[k], coalesce(own ->> 'tx_type', 'transfer'), account_ids[debit_places[k]],
    account_ids[credit_places[k]], moved_amounts[done[k]],
    CASE WHEN own ->> 'fee' = 'held' THEN 0 ELSE fees[done[k]] END, messages[done[k]], own ->> 'ref',
    coalesce(opened[done[k]], (coalesce(own -> 'capture', own -> 'release') ->> 'id')::bigint)
  FROM (SELECT n AS k, more[done[n]] AS own FROM generate_series(1, cardinality(done)) n OFFSET 0) d;
  INSERT INTO ledger_posting (tx_id, account_id, bucket, delta, balance_after)
  SELECT given[w.k], CASE WHEN w.place = 0 THEN collector_id ELSE account_ids[w.place] END, bucket_names[w.bucket],
    w.delta, CASE WHEN w.place = 0 THEN collector_before ELSE 0 END + w.balance
  FROM unnest(posting_of, posting_place, posting_bucket, posting_delta, posting_after)
    AS w (k, place, bucket, delta, balance);
END $$;

-- One LedgerBalanceChanged for each transaction, in the order of their ids; the journal records a typed event beside it.
CREATE OR REPLACE FUNCTION ledger_append_events(frame text, currency text, collector text, collector_before bigint,
  account_dids text[], debits text[], credits text[], messages text[], more jsonb[], done int[], given bigint[],
  moved_amounts bigint[], fees bigint[], first_posting int[], posting_place int[], posting_bucket int[],
  posting_delta bigint[], posting_after bigint[])
RETURNS void LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  bucket_names CONSTANT text[] := '{liquid,staked,escrow,transit}';
BEGIN
  PERFORM journal_append_ledger(frame, currency, collector, array_agg(e.event_type), array_agg(e.first_party),
    array_agg(e.aggregate_type), array_agg(e.data), array_agg(e.key), array_agg(e.tx_id), array_agg(e.tx_type),
    array_agg(e.payee), array_agg(e.amount), array_agg(e.fee), array_agg(e.freed), array_agg(e.payer_after),
    array_agg(e.payee_after), array_agg(e.freed_after), array_agg(e.collector_after), array_agg(e.message))
  FROM (
    SELECT t.first_party, 'LedgerBalanceChanged' AS event_type, 'ledger_transaction' AS aggregate_type,
      concat('ledger-tx-', frame, '-', t.tx_id) AS key,
      CASE WHEN NOT t.is_transfer THEN jsonb_build_object('frame', frame, 'tx_id', t.tx_id, 'tx_type', t.tx_type,
        'currency', currency, 'fee', CASE WHEN t.is_held THEN '0' ELSE ledger_amount(t.price) END, 'memo', t.memo,
        'entries', (
          SELECT jsonb_agg(jsonb_build_object(
            'account', CASE posting_place[s] WHEN 0 THEN collector ELSE account_dids[posting_place[s]] END,
            'bucket', bucket_names[posting_bucket[s]], 'delta', ledger_amount(posting_delta[s]), 'balance_after',
            ledger_amount(posting_after[s] + CASE posting_place[s] WHEN 0 THEN collector_before ELSE 0 END)) ORDER BY s)
          FROM generate_series(t.first_posting, t.last_posting) s)) || t.counterparty END AS data,
      t.tx_id, t.tx_type, t.payee, t.moved AS amount, t.price AS fee, t.memo AS message,
      posting_after[t.first_posting] AS payer_after, posting_after[t.first_posting + 1] AS payee_after,
      CASE WHEN t.is_freed THEN posting_delta[t.first_posting + 2] END AS freed,
      CASE WHEN t.is_freed THEN posting_after[t.first_posting + 2] END AS freed_after,
      CASE WHEN t.price > 0 THEN posting_after[t.last_posting]
        + CASE posting_place[t.last_posting] WHEN 0 THEN collector_before ELSE 0 END END AS collector_after
    -- Each figure is written out once: without OFFSET the planner would write it out wherever it is used.
    FROM (SELECT given[k] AS tx_id, coalesce(own ->> 'tx_type', 'transfer') AS tx_type,
      coalesce(debits[done[k]], credits[done[k]]) AS first_party, credits[done[k]] AS payee,
      coalesce(messages[done[k]], own ->> 'memo') AS memo,
      CASE WHEN own ? 'counterparty_frame'
        THEN jsonb_build_object('counterparty_frame', own ->> 'counterparty_frame') ELSE '{}' END AS counterparty,
      coalesce((own ->> 'typed')::boolean, own IS NULL) AS is_transfer,
      (own ->> 'fee' = 'held') IS TRUE AS is_held,
      fees[done[k]] AS price, moved_amounts[done[k]] AS moved, first_posting[k] AS first_posting,
      first_posting[k] + 2 < last AND fees[done[k]] > 0 OR first_posting[k] + 1 < last AND fees[done[k]] = 0 AS is_freed,
      last AS last_posting
      FROM (SELECT n AS k, more[done[n]] AS own, coalesce(first_posting[n + 1], cardinality(posting_place) + 1) - 1 AS last
        FROM generate_series(1, cardinality(done)) n OFFSET 0) d OFFSET 0) t) e;
END $$;

-- Keep the answers of orders that have a key. Of a group its first order is remembered, with the receipts of all.
CREATE OR REPLACE FUNCTION ledger_remember_orders(carried int[], scopes bytea[], digests bytea[], more jsonb[],
  tx_ids bigint[], moved_amounts bigint[], fees bigint[], balances bigint[], opened bigint[], kept_answers text[],
  microseconds bigint)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM plumbing_remember(array_agg(scopes[i]), array_agg(digests[i]), array_agg(
    CASE WHEN more[i] IS NULL THEN concat_ws(' ', tx_ids[i], fees[i], balances[i], microseconds)
    ELSE (
      SELECT jsonb_agg(jsonb_build_array(tx_ids[o], moved_amounts[o], coalesce(fees[o], 0), coalesce(balances[o], 0),
        opened[o], microseconds, kept_answers[o]::jsonb) ORDER BY o)::text
      FROM unnest(carried) o WHERE o = i OR more[o] -> 'group' = more[i] -> 'group') END))
  FROM unnest(carried) i WHERE scopes[i] IS NOT NULL;
END $$;
