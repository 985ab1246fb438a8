-- The events that a row of the journal stands for: itself, or those of a transfer.

-- Minor units as the decimal string that events have.
CREATE OR REPLACE FUNCTION journal_amount(minor bigint) RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT trim_scale(minor * 0.00000001)::text
$$;

-- What a LedgerBalanceChanged adds to each bucket, in units and in the order of its entries; no row for other events.
CREATE OR REPLACE FUNCTION journal_entries(stored journal_event)
RETURNS TABLE (place bigint, account text, bucket text, delta numeric, balance_after bigint)
LANGUAGE sql STABLE AS $$
  SELECT e.place, e.entry ->> 'account', e.entry ->> 'bucket', (e.entry ->> 'delta')::numeric, NULL::bigint
  FROM jsonb_array_elements(stored.data -> 'entries') WITH ORDINALITY AS e (entry, place)
  UNION ALL
  SELECT e.place, e.account, e.bucket, e.delta * 0.00000001, e.balance_after
  FROM (VALUES
    (1, stored.aggregate_id, CASE stored.tx_type WHEN 'capture' THEN 'escrow' ELSE 'liquid' END,
      -(stored.amount + coalesce(stored.freed, 0) + stored.fee), stored.payer_after),
    (2, stored.payee, 'liquid', stored.amount, stored.payee_after),
    (3, stored.aggregate_id, 'liquid', stored.freed, stored.freed_after),
    (4, (SELECT t.collector FROM journal_transfer_terms t WHERE t.id = stored.terms), 'liquid', stored.fee, stored.collector_after)
  ) AS e (place, account, bucket, delta, balance_after)
  WHERE stored.data IS NULL AND e.balance_after IS NOT NULL
$$;

-- What the entries of one event add up to, in units. It may run in the processes that share a reading.
CREATE OR REPLACE FUNCTION journal_net(entries jsonb) RETURNS numeric LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT sum((e ->> 'delta')::numeric) FROM jsonb_array_elements(entries) e
$$;

-- The events of a stored. Python reads them through `expansion.py`.
CREATE OR REPLACE FUNCTION journal_expand(stored journal_event)
RETURNS TABLE (seq bigint, id uuid, event_type text, aggregate_id text, aggregate_type text, data jsonb, metadata jsonb,
  recorded_at timestamptz, version int, source_service text, idempotency_key text, xid bigint)
LANGUAGE sql STABLE AS $$
  SELECT stored.seq, stored.id, stored.event_type, stored.aggregate_id, stored.aggregate_type, stored.data, stored.metadata, stored.recorded_at,
    stored.version, stored.source_service, stored.idempotency_key, stored.xid
  WHERE stored.data IS NOT NULL
  UNION ALL
  SELECT stored.seq + k.rank, (left(stored.id::text, 28)
      || to_hex(('x' || right(stored.id::text, 8))::bit(32)::bigint + k.rank))::uuid,
    k.event_type, stored.aggregate_id, CASE k.bit WHEN 1 THEN stored.aggregate_type ELSE 'agent' END,
    CASE k.bit
      WHEN 1 THEN jsonb_build_object('frame', t.frame, 'tx_id', stored.tx_id, 'tx_type', stored.tx_type, 'currency', t.currency,
        'fee', journal_amount(stored.fee), 'memo', stored.message, 'entries', (
          SELECT jsonb_agg(jsonb_build_object('account', e.account, 'bucket', e.bucket,
            'delta', trim_scale(e.delta)::text, 'balance_after', journal_amount(e.balance_after)) ORDER BY e.place)
          FROM journal_entries(stored) e))
      WHEN 2 THEN jsonb_build_object('tx_id', stored.tx_id, 'from', stored.aggregate_id, 'to', stored.payee,
        'amount', journal_amount(stored.amount), 'fee', journal_amount(stored.fee), 'currency', t.currency,
        'message', stored.message)
      ELSE jsonb_build_object('tx_id', stored.tx_id, 'payer', stored.aggregate_id, 'collector', t.collector,
        'fee', journal_amount(stored.fee), 'currency', t.currency)
    END, stored.metadata, stored.recorded_at, stored.version, stored.source_service,
    CASE k.bit WHEN 1 THEN coalesce(stored.idempotency_key, concat('ledger-tx-', t.frame, '-', stored.tx_id)) END, stored.xid
  FROM (VALUES (1, 'LedgerBalanceChanged', 0), (2, 'TokensTransferred', 1),
      (4, 'TransactionFeeCollected', 1 + ((stored.admitted >> 1) & 1))) AS k (bit, event_type, rank)
    JOIN journal_transfer_terms t ON t.id = stored.terms
  WHERE stored.data IS NULL AND stored.admitted & k.bit <> 0
$$;
