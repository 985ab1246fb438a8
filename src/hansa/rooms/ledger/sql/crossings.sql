-- Crossings: what agents send to other registries and receive from them, decided in one lock pass with all other orders.
-- The transit account of the other registry is locked by each order on a crossing, so that its rows need no lock of their
-- own: they are read after it.

-- What identifies the crossing of an order.
CREATE OR REPLACE FUNCTION ledger_crossing_key(own jsonb) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  RETURN concat_ws(' ', own -> 'crossing' ->> 'transit', own -> 'crossing' ->> 'direction',
    own -> 'crossing' ->> 'transfer_id');
END $$;

-- The crossings that these orders name, each once, in the order of their keys; a state of null where there is none yet.
CREATE OR REPLACE FUNCTION ledger_named_crossings(crossing_orders int[], more jsonb[])
RETURNS TABLE (key text, transit text, direction text, transfer_id uuid, agent text, is_closed boolean, counterparty text,
  amount bigint, fee bigint, state text, tx_id bigint, return_tx_id bigint)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
  RETURN QUERY
  SELECT n.key, n.transit, n.direction, n.transfer_id, agent.did, agent.closed_at IS NOT NULL, c.counterparty, c.amount,
    c.fee, c.state, c.tx_id, c.return_tx_id
  FROM (
    SELECT DISTINCT ledger_crossing_key(more[i]) AS key, more[i] -> 'crossing' ->> 'transit' AS transit,
      more[i] -> 'crossing' ->> 'direction' AS direction, (more[i] -> 'crossing' ->> 'transfer_id')::uuid AS transfer_id
    FROM unnest(crossing_orders) i
  ) n
  -- A subquery with a limit is planned by itself: each crossing is found by its whole key, also by a plan that was made while
  -- the table was empty, for which reading all of it is as cheap.
  LEFT JOIN LATERAL (
    SELECT o.* FROM ledger_crossing o
    WHERE o.transit_id = (SELECT t.id FROM ledger_account t WHERE t.did = n.transit AND t.unit = '')
      AND o.direction = n.direction AND o.transfer_id = n.transfer_id
    LIMIT 1
  ) c ON true
  LEFT JOIN ledger_account agent ON agent.id = c.agent_id
  ORDER BY n.key;
END $$;

-- Whose the crossings of these orders are, those that exist, and the accounts that are credited for closed ones.
CREATE OR REPLACE FUNCTION ledger_crossing_parties(crossing_orders int[], more jsonb[]) RETURNS text[]
LANGUAGE plpgsql AS $$
DECLARE
  agents text[]; closed text[];
BEGIN
  SELECT array_agg(DISTINCT c.agent), array_agg(c.key) FILTER (WHERE c.is_closed) INTO agents, closed
  FROM ledger_named_crossings(crossing_orders, more) c WHERE c.agent IS NOT NULL;
  IF closed IS NULL THEN
    RETURN agents;
  END IF;
  RETURN agents || ARRAY(
    SELECT DISTINCT more[i] -> 'crossing' ->> 'unclaimed' FROM unnest(crossing_orders) i
    WHERE more[i] -> 'crossing' ? 'unclaimed' AND ledger_crossing_key(more[i]) = ANY (closed));
END $$;

-- Open the system accounts that these orders need and that do not exist yet, of those that are parties.
CREATE OR REPLACE FUNCTION ledger_open_crossing_accounts(crossing_orders int[], more jsonb[], parties text[]) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO ledger_account (did, kind)
  SELECT n.did, 'system' FROM (
    SELECT DISTINCT more[i] -> 'crossing' ->> 'transit' AS did FROM unnest(crossing_orders) i
    WHERE more[i] -> 'crossing' ->> 'step' = 'reserve'
    UNION SELECT more[i] -> 'crossing' ->> 'unclaimed' FROM unnest(crossing_orders) i
    WHERE more[i] -> 'crossing' ->> 'unclaimed' = ANY (parties)
    ORDER BY 1
  ) n
  WHERE NOT EXISTS (SELECT FROM ledger_account a WHERE a.did = n.did AND a.unit = '')
  ON CONFLICT (did, unit) DO NOTHING;
END $$;

-- Why a step of a crossing is not done, or null: `repeated` where it was done before, and the refusals.
CREATE OR REPLACE FUNCTION ledger_crossing_refusal(step text, state text, is_same boolean) RETURNS text
LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  RETURN CASE
    WHEN step = 'reserve' THEN CASE WHEN state IS NULL THEN NULL WHEN is_same THEN 'repeated' ELSE 'crossing_differs' END
    WHEN state IS NULL THEN 'crossing_unknown'
    WHEN state = 'reserved' THEN NULL
    WHEN state = CASE step WHEN 'commit' THEN 'committed' ELSE 'aborted' END THEN 'repeated'
    ELSE 'crossing_decided'
  END;
END $$;

-- What came in from the registry of this transit account and may still come, less what went out for good; minor units.
-- What was issued because that registry confirmed a slash came in as well.
CREATE OR REPLACE FUNCTION ledger_net_in(transit_account bigint) RETURNS numeric LANGUAGE plpgsql AS $$
BEGIN
  RETURN (SELECT coalesce(sum(c.amount), 0) FROM ledger_crossing c
      WHERE c.transit_id = transit_account AND c.state = 'reserved' AND c.direction <> 'swap_in')
    + coalesce((SELECT k.compensated FROM ledger_corridor k WHERE k.transit_id = transit_account), 0)
    - (SELECT a.transit FROM ledger_account a WHERE a.id = transit_account);
END $$;

-- What came in from all registries and may still come, less what went out for good, or 0 if that is less; minor units.
CREATE OR REPLACE FUNCTION ledger_net_in_of_all() RETURNS numeric LANGUAGE plpgsql AS $$
BEGIN
  RETURN greatest(0, (SELECT coalesce(sum(c.amount), 0) FROM ledger_crossing c
      WHERE c.state = 'reserved' AND c.direction <> 'swap_in')
    - (SELECT coalesce(sum(a.transit), 0) FROM ledger_account a WHERE a.kind = 'system'));
END $$;

-- What may still come in under the limit of the whole supply. Exact while the treasury is locked.
CREATE OR REPLACE FUNCTION ledger_room_for_entry(supply_max bigint) RETURNS numeric LANGUAGE plpgsql AS $$
BEGIN
  RETURN supply_max - ledger_net_in_of_all() - (
    SELECT coalesce(sum(CASE tx_type WHEN 'issue' THEN amount ELSE -amount END), 0) FROM ledger_transaction
    WHERE tx_type IN ('issue', 'destroy'));
END $$;

-- Write the crossings that were changed, and what their corridors have committed in all.
CREATE OR REPLACE FUNCTION ledger_write_crossings(transits text[], directions text[], transfers uuid[], agents text[],
  counterparties text[], amounts bigint[], fees bigint[], states text[], is_changed boolean[], crossing_tx_ids bigint[],
  return_tx_ids bigint[])
RETURNS void LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
  WITH changed AS (
    SELECT account.id AS transit_id, c.*, agent.id AS agent_id
    FROM unnest(transits, directions, transfers, agents, counterparties, amounts, fees, states, is_changed, crossing_tx_ids,
      return_tx_ids) AS c (transit, direction, transfer_id, agent, counterparty, amount, fee, state, is_changed, tx_id,
      return_tx_id)
    JOIN ledger_account account ON account.did = c.transit AND account.unit = ''
    JOIN ledger_account agent ON agent.did = c.agent AND agent.unit = ''
    WHERE c.is_changed
  ), written AS (
    INSERT INTO ledger_crossing AS o (transit_id, direction, transfer_id, agent_id, counterparty, amount, fee, state, tx_id,
      return_tx_id, decided_at)
    SELECT transit_id, direction, transfer_id, agent_id, counterparty, amount, fee, state, tx_id,
      -- What was aborted and then reserved again has the return of that abort still.
      CASE WHEN state = 'aborted' OR direction = 'swap_out' AND state = 'committed' THEN return_tx_id END,
      CASE WHEN state <> 'reserved' THEN clock_timestamp() END
    FROM changed
    ON CONFLICT (transit_id, direction, transfer_id) DO UPDATE
      SET state = excluded.state, tx_id = excluded.tx_id, return_tx_id = excluded.return_tx_id,
        decided_at = excluded.decided_at, agent_id = excluded.agent_id, counterparty = excluded.counterparty,
        amount = excluded.amount, fee = excluded.fee
      WHERE o.state IN ('reserved', 'aborted')
  )
  INSERT INTO ledger_corridor AS k (transit_id, committed_out, committed_in)
  SELECT transit_id, coalesce(sum(amount) FILTER (WHERE direction = 'out'), 0),
    coalesce(sum(amount) FILTER (WHERE direction = 'in'), 0)
  FROM changed WHERE state = 'committed' AND direction IN ('out', 'in') GROUP BY transit_id
  ON CONFLICT (transit_id) DO UPDATE SET committed_out = k.committed_out + excluded.committed_out,
    committed_in = k.committed_in + excluded.committed_in;
END $$;

-- `tx_ids` with those of the transactions that repeated steps made when they were done.
CREATE OR REPLACE FUNCTION ledger_repeated_txs(tx_ids bigint[], crossing_orders int[], outcomes text[], more jsonb[],
  crossing_place jsonb, crossing_txs bigint[], return_tx_ids bigint[])
RETURNS bigint[] LANGUAGE plpgsql AS $$
DECLARE
  i int;
  place int;
BEGIN
  FOREACH i IN ARRAY crossing_orders LOOP
    IF outcomes[i] = 'repeated' THEN
      place := (crossing_place ->> ledger_crossing_key(more[i]))::int;
      tx_ids[i] := CASE WHEN more[i] -> 'crossing' ->> 'step' = 'abort' THEN return_tx_ids[place]
        WHEN (more[i] -> 'crossing' ->> 'direction' IN ('out', 'swap_out')) = (more[i] -> 'crossing' ->> 'step' = 'reserve')
          THEN crossing_txs[place] END;
    END IF;
  END LOOP;
  RETURN tx_ids;
END $$;
