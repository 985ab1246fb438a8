-- The one place where orders to the book are decided and written.
-- after: ledger/fees.sql
-- after: plumbing/caller_versions.sql
-- after: plumbing/remembered_answers.sql
-- after: ledger/extensions.sql
-- after: ledger/holds.sql
-- after: ledger/entries.sql
-- after: ledger/crossings.sql

-- Decide and write orders in their order, each seeing the effect of the earlier ones; one row for each, in order.
--
-- An order: {debit, credit, amount, message, scope, digest, barred, more, caller, caller_version}. It moves `amount` from the liquid balance of
-- `debit` to that of `credit`, both of which must be active, with the fee of a transfer on top; `debit` is null where
-- units are issued, `credit` where they are destroyed. `scope` and `digest` are the ledger key, in hex, or null without
-- one; a barred order is refused unless its key was used before. `caller_version` is the version in which `caller`, or
-- else `debit`, was read before, or null where it is not compared. `more` is null for a transfer; its members, all optional:
--   tx_type  what the transaction is called; default transfer
--   from, to  buckets: 1 liquid, 2 staked, 3 escrow, 4 transit; default 1
--   fee  none, on_top, held (computed as on_top, kept in escrow with the amount), inside (of the amount); default none
--   fixed_fee  the fee instead of the computed one; of `inside` always given
--   active  which parties must be active: 1 debit, 2 credit; default both
--   paced  whether the velocity counts the amount (`sent`) or only the balance before (`held`); default neither
--   at_most  move as much as there is, up to the amount; without a fee
--   ref, memo  reference of the transaction; what its events say instead of a message
--   group  orders with the same number stand side by side: all of them are done, or none; the first has their key
--   typed  whether TokensTransferred is recorded
--   counterparty_frame  the other registry
--   hold  {owner_kind, owner_id, payee, expires_at}: open a hold of `debit`, for `payee` unless its capture names one
--   capture  {id, final, destroyed}: pay `amount` of a hold to `credit`, with its part of the held fee; `final` frees the
--     rest; `destroyed` pays nobody: the amount ceases to be, and tx_type is `destroy`
--   release  {id, due}: free what remains of a hold; with `due` only when it has expired and is not frozen
--   crossing  {step, direction, transfer_id, transit, counterparty, fee, net_in_limit, supply_max, treasury, unclaimed, leg,
--     again}: a step (reserve, commit, abort) of what crosses to (`out`) or from (`in`) another registry; `transit` is the
--     account of that registry. A crossing fixes agent, amount and fee when it is reserved. A closed agent's `in` goes to `unclaimed`.
--     `again` reserves what was aborted once more; its transaction bears the transfer id in braces.
--     The directions `swap_out` and `swap_in` are of two units: the commit moves transit to `leg`, or `leg` to the agent.
--   extension  {kind, payload, is_recorded}: rows of a room that are claimed before the money and recorded after it (extensions.sql);
--     with the amount 0 nothing else is done; a dry run leaves it out
--   lost  {outcome, fee, balance, answer}: refused before anything is claimed; written by ledger_apply_extended
-- Where a hold is named, its payer is debited, and without `credit` its payee is credited unless `destroyed`.
--
-- Outcomes: posted, replayed (with the kept answer), uncovered (with the fee and the balance of the debited bucket),
-- barred, caller_changed (it has another version now), debit_unknown, credit_unknown, payee_unknown, same_party, debit_suspended, credit_suspended, key_in_progress,
-- key_reused, hold_unknown, hold_ended, hold_exceeded (with what may still be captured), hold_not_due, hold_expired,
-- beyond_limit (of transit), crossing_unknown, crossing_decided (otherwise), crossing_differs (from what was reserved under
-- its id), beyond_net_in, beyond_supply, repeated (a step that was done before: nothing was moved again), nothing (at_most found nothing to move), undone (another order of its group was refused),
-- claim_refused (by its extension; the answer says why), recorded (nothing but an extension). The answer of an order
-- that was carried out is what its extension returned.
CREATE OR REPLACE FUNCTION ledger_apply(frame text, currency text, collector text, policy bigint[], orders json,
  window_hours int, dry boolean)
RETURNS TABLE (outcome text, tx_id bigint, moved bigint, fee bigint, balance bigint, credited bigint, hold_id bigint,
  answer text, recorded_at timestamptz)
-- Planned once, and right for a table of any size: every table is reached by its keys.
LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_material = off
SET enable_hashjoin = off SET enable_mergejoin = off AS $$
#variable_conflict use_column
DECLARE
  this_minute int := (extract(epoch FROM now()) / 60)::int;
  microseconds bigint := (extract(epoch FROM now()) * 1000000)::bigint;
  size int;
  -- The orders as they were given.
  debits text[]; credits text[]; amounts bigint[]; messages text[]; scopes bytea[]; digests bytea[]; barred boolean[];
  more jsonb[]; callers text[]; versions int[]; changed bigint[];
  -- Whether some of them are more than a transfer.
  has_more boolean := false;
  -- What is known of their keys before anything is decided.
  recalled record; held boolean[]; kept_digests bytea[]; kept_answers text[]; known text[];
  -- What becomes of them.
  outcomes text[]; moved_amounts bigint[]; fees bigint[]; balances bigint[];
  credited_balances bigint[]; tx_ids bigint[]; opened bigint[];
  lost_groups int[] := '{}'; lost_at int[] := '{}'; lost_outcomes text[] := '{}'; lost_fees bigint[] := '{}';
  lost_balances bigint[] := '{}';
  -- The holds that are named, by their place in id order.
  named_holds bigint[]; hold_ids bigint[]; hold_place jsonb; hold_payers text[]; hold_payees text[];
  hold_amounts bigint[]; hold_fees bigint[]; hold_captured bigint[]; hold_fee_captured bigint[]; hold_left bigint[];
  hold_is_due boolean[]; hold_endings text[]; hold_is_touched boolean[];
  -- The locked accounts, agents before the registry's own, each kind in id order; four balances for each, by bucket. A
  -- payer's pace: what it sent in the minutes before this one.
  parties text[]; payers text[]; accounts ledger_account[]; account_tids tid[]; account_ids bigint[]; account_dids text[]; place_of jsonb;
  active boolean[]; funds bigint[]; floors bigint[]; ceilings bigint[]; pace_from int[]; pace_to int[]; past text[];
  past_sent numeric[]; past_held bigint[]; now_sent bigint[]; now_held bigint[]; is_changed boolean[]; is_paced boolean[];
  -- What is written, in order: transactions, and their postings by the number of the transaction. A collector that is
  -- none of the parties stands last; its balance is known when its row is locked, after everybody else's.
  done int[]; first_posting int[]; debit_places int[]; credit_places int[];
  posting_of int[]; posting_place int[]; posting_bucket int[]; posting_delta bigint[]; posting_after bigint[];
  collector_tid tid; collector_id bigint; collector_place int; written int; collector_before bigint; fees_total bigint; given bigint[];
  opened_orders int[];
  -- What is remembered of the orders that have a key.
  receipts text[]; remembered record;
  -- The orders on crossings, and the crossings that they name, by their place in the order of their keys.
  crossing_orders int[] := '{}'; crossing_place jsonb; crossing_transits text[]; crossing_directions text[];
  crossing_transfers uuid[]; crossing_agents text[]; crossing_closed boolean[]; crossing_counterparties text[];
  crossing_amounts bigint[]; crossing_fees bigint[]; crossing_states text[]; crossing_txs bigint[];
  crossing_returns bigint[]; crossing_changed boolean[]; moved_by int[]; returned_by int[]; net_in_change numeric[];
  net_in_before numeric[]; entry_room numeric;
  -- The orders whose extension was claimed, all that were carried out, and claims that have to be undone.
  is_extended boolean := false; claimed int[] := '{}'; carried int[]; extension record; unclaimed jsonb;
  -- Of the order at hand; the values are those of a transfer.
  own jsonb; refusal text; is_payee_unknown boolean := false; amount bigint; price bigint; rest bigint; left_over bigint := 0;
  sent numeric; most_held bigint;
  p int; q int; h int; k int; x int; step text; is_out boolean; is_swap boolean; is_still boolean := false; is_again boolean;
  from_bucket int := 1; to_bucket int := 1; fee_mode text := 'on_top'; paced text := 'sent'; active_mask int := 3;
  named jsonb;
BEGIN
  SELECT array_agg(o.debit), array_agg(o.credit), array_agg(o.amount), array_agg(o.message),
    array_agg(decode(o.scope, 'hex')), array_agg(decode(o.digest, 'hex')), array_agg(o.barred), array_agg(o.more),
    array_agg(coalesce(o.caller, o.debit)), array_agg(o.caller_version)
  INTO debits, credits, amounts, messages, scopes, digests, barred, more, callers,
    versions
  FROM json_to_recordset(orders) AS o (debit text, credit text, amount bigint, message text, scope text, digest text,
    barred boolean, more jsonb, caller text, caller_version int);
  size := cardinality(amounts);
  changed := ARRAY(SELECT c.place FROM plumbing_changed_callers(callers, versions) c);
  recalled := plumbing_recall(scopes, window_hours);
  held := recalled.held;
  kept_digests := recalled.body_digests;
  kept_answers := recalled.answers;
  known := array_fill(NULL::text, ARRAY[size]);
  parties := '{}';
  payers := '{}';
  named_holds := '{}';
  FOR i IN 1 .. size LOOP
    IF i = ANY (changed) THEN
      known[i] := 'caller_changed';
    ELSIF NOT held[i] THEN
      known[i] := 'key_in_progress';
    ELSIF kept_digests[i] IS NOT NULL THEN
      known[i] := CASE WHEN kept_digests[i] = digests[i] THEN 'replayed' ELSE 'key_reused' END;
    ELSIF barred[i] THEN
      known[i] := 'barred';
    ELSIF more[i] IS NULL THEN
      parties := parties || debits[i] || credits[i];
      payers := payers || debits[i];
    ELSIF i > 1 AND more[i] -> 'group' = more[i - 1] -> 'group' AND known[i - 1] IS NOT NULL THEN
      -- The first of a group speaks for all of it.
      known[i] := 'undone';
    ELSE
      own := more[i];
      has_more := true;
      IF own ? 'lost' THEN
        kept_answers[i] := own -> 'lost' ->> 'answer';
        lost_groups := lost_groups || (own ->> 'group')::int;
        lost_at := lost_at || i;
        lost_outcomes := lost_outcomes || (own -> 'lost' ->> 'outcome');
        lost_fees := lost_fees || (own -> 'lost' ->> 'fee')::bigint;
        lost_balances := lost_balances || (own -> 'lost' ->> 'balance')::bigint;
      END IF;
      is_extended := is_extended OR own ? 'extension';
      parties := parties || debits[i] || credits[i];
      IF own ?| '{fee,paced}' THEN
        payers := payers || debits[i];
      END IF;
      IF own ?| '{capture,release}' THEN
        named_holds := named_holds || (coalesce(own -> 'capture', own -> 'release') ->> 'id')::bigint;
      END IF;
      IF own ? 'crossing' THEN
        crossing_orders := crossing_orders || i;
        parties := parties || (own -> 'crossing' ->> 'treasury') || (own -> 'crossing' ->> 'leg');
      END IF;
    END IF;
  END LOOP;

  IF is_extended AND NOT dry THEN
    claimed := ARRAY(
      SELECT i FROM generate_series(1, size) i
      WHERE more[i] ? 'extension' AND known[i] IS NULL AND i <> ALL (lost_at)
        AND ((more[i] ->> 'group')::int = ANY (lost_groups)) IS NOT TRUE);
    FOR extension IN SELECT * FROM ledger_claim(claimed, more, amounts, debits, credits) LOOP
      IF extension.refusal IS NULL THEN
        kept_answers[extension.place] := extension.result;
      ELSE
        kept_answers[extension.place] := jsonb_build_object('refusal', extension.refusal, 'detail', extension.result);
        claimed := array_remove(claimed, extension.place);
        lost_groups := lost_groups || (more[extension.place] ->> 'group')::int;
        lost_at := lost_at || extension.place;
        lost_outcomes := lost_outcomes || 'claim_refused'::text;
        lost_fees := lost_fees || NULL::bigint;
        lost_balances := lost_balances || NULL::bigint;
      END IF;
    END LOOP;
  END IF;

  IF named_holds <> '{}' THEN
    IF NOT dry THEN
      PERFORM FROM ledger_hold l WHERE l.id = ANY (named_holds) ORDER BY l.id FOR NO KEY UPDATE;
    END IF;
    -- A statement of its own after the locks: it must see what a rival committed.
    SELECT array_agg(l.id ORDER BY l.id), jsonb_object_agg(l.id, l.place), array_agg(payer.did ORDER BY l.id),
      array_agg(payee.did ORDER BY l.id), array_agg(l.amount ORDER BY l.id), array_agg(l.fee_held ORDER BY l.id)
    INTO hold_ids, hold_place, hold_payers, hold_payees, hold_amounts, hold_fees
    FROM (SELECT o.*, row_number() OVER (ORDER BY o.id) AS place FROM ledger_hold o WHERE o.id = ANY (named_holds)) l
    JOIN ledger_account payer ON payer.id = l.payer_id LEFT JOIN ledger_account payee ON payee.id = l.payee_id;
    FOR i IN 1 .. size LOOP
      CONTINUE WHEN known[i] IS NOT NULL OR NOT coalesce(more[i] ?| '{capture,release}', false);
      h := (hold_place ->> (coalesce(more[i] -> 'capture', more[i] -> 'release') ->> 'id'))::int;
      debits[i] := hold_payers[h];
      credits[i] := CASE WHEN more[i] ? 'release' THEN hold_payers[h]
        WHEN NOT more[i] @> '{"capture": {"destroyed": true}}' THEN coalesce(credits[i], hold_payees[h]) END;
      parties := parties || debits[i] || credits[i];
    END LOOP;
  END IF;
  IF crossing_orders <> '{}' THEN
    -- Whose a crossing is does not change; whatever else is read once the accounts are locked.
    parties := parties || ledger_crossing_parties(crossing_orders, more);
    IF NOT dry THEN
      PERFORM ledger_open_crossing_accounts(crossing_orders, more, parties);
    END IF;
  END IF;
  IF dry THEN
    accounts := ARRAY(SELECT a FROM ledger_account a WHERE a.did = ANY (parties) AND a.unit = '');
  ELSE
    -- A row that a rival changed while its lock was waited for is returned as the rival left it.
    SELECT array_agg(l.account), array_agg(l.ctid) INTO accounts, account_tids
    FROM (
      SELECT a AS account, a.ctid FROM ledger_account a WHERE a.did = ANY (parties) AND a.unit = ''
      ORDER BY a.kind = 'system', a.id FOR NO KEY UPDATE
    ) l;
  END IF;

  <<walk>>
  LOOP
    -- Holds and accounts as they are now; once more for each group that is lost, as if it had not been ordered.
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

    FOR i IN 1 .. size LOOP
      CONTINUE WHEN outcomes[i] IS NOT NULL;
      own := more[i];
      refusal := NULL;
      amount := amounts[i];
      price := 0;
      IF has_more THEN
        -- What the order before may have changed.
        from_bucket := 1; to_bucket := 1; fee_mode := 'on_top'; paced := 'sent'; active_mask := 3;
        left_over := 0; h := NULL; x := NULL; is_still := false; is_payee_unknown := false;
      END IF;
      p := (place_of ->> debits[i])::int;
      q := (place_of ->> credits[i])::int;
      IF own IS NULL THEN
        NULL;
      ELSIF (own ->> 'group')::int = ANY (lost_groups) THEN
        outcomes[i] := 'undone';
        CONTINUE;
      ELSIF amount = 0 AND own ? 'extension' THEN
        outcomes[i] := 'recorded';
        moved_amounts[i] := 0;
        CONTINUE;
      ELSE
        from_bucket := coalesce((own ->> 'from')::int, 1);
        to_bucket := coalesce((own ->> 'to')::int, 1);
        fee_mode := coalesce(own ->> 'fee', 'none');
        paced := own ->> 'paced';
        active_mask := coalesce((own ->> 'active')::int, 3);
        named := coalesce(own -> 'capture', own -> 'release');
        IF own ? 'crossing' THEN
          x := (crossing_place ->> ledger_crossing_key(own))::int;
          step := own -> 'crossing' ->> 'step';
          is_again := own -> 'crossing' ? 'again' AND crossing_states[x] = 'aborted';
          is_out := crossing_directions[x] IN ('out', 'swap_out');
          is_swap := crossing_directions[x] IN ('swap_out', 'swap_in');
          is_still := is_out = (step = 'commit') AND NOT (is_out AND is_swap);
          refusal := ledger_crossing_refusal(step, CASE WHEN NOT is_again THEN crossing_states[x] END, (
            (crossing_agents[x], crossing_counterparties[x], crossing_amounts[x], crossing_fees[x]) IS NOT DISTINCT FROM
            (CASE WHEN is_out THEN debits[i] ELSE credits[i] END, own -> 'crossing' ->> 'counterparty', amount,
            coalesce((own -> 'crossing' ->> 'fee')::bigint, 0))));
          IF refusal = 'repeated' THEN
            outcomes[i] := 'repeated';
            moved_amounts[i] := 0;
            CONTINUE;
          ELSIF refusal IS NULL AND step <> 'reserve' THEN
            amount := crossing_amounts[x];
            price := crossing_fees[x];
            credits[i] := CASE WHEN crossing_closed[x] AND NOT is_still THEN own -> 'crossing' ->> 'unclaimed'
              ELSE crossing_agents[x] END;
            IF is_swap AND step = 'commit' AND is_out THEN
              credits[i] := own -> 'crossing' ->> 'leg';
            ELSIF is_swap AND step = 'commit' THEN
              debits[i] := own -> 'crossing' ->> 'leg';
              p := (place_of ->> debits[i])::int;
            END IF;
            q := (place_of ->> credits[i])::int;
            IF q IS NULL AND crossing_closed[x] THEN
              RAISE EXCEPTION 'an account was closed meanwhile' USING ERRCODE = 'serialization_failure';
            END IF;
          ELSIF dry AND NOT place_of ? crossing_transits[x] THEN
            -- The first crossing with a registry opens its account, which a dry run does not.
            debits[i] := nullif(debits[i], crossing_transits[x]);
            credits[i] := nullif(credits[i], crossing_transits[x]);
          END IF;
        END IF;
        IF own -> 'hold' ? 'payee' THEN
          is_payee_unknown := NOT EXISTS (
            SELECT FROM ledger_account a WHERE a.did = own -> 'hold' ->> 'payee' AND a.unit = '');
        END IF;
        IF named IS NOT NULL THEN
          h := (hold_place ->> (named ->> 'id'))::int;
          from_bucket := 3;
          IF h IS NULL THEN
            refusal := 'hold_unknown';
          ELSIF hold_left[h] = 0 THEN
            refusal := 'hold_ended';
          ELSIF own ? 'release' THEN
            IF (named ->> 'due')::boolean AND NOT hold_is_due[h] THEN
              refusal := 'hold_not_due';
            END IF;
            amount := hold_left[h];
          ELSIF hold_is_due[h] THEN
            refusal := 'hold_expired';
          ELSIF amount > hold_amounts[h] - hold_captured[h] THEN
            refusal := 'hold_exceeded';
            balances[i] := hold_amounts[h] - hold_captured[h];
          ELSE
            price := ledger_held_fee(hold_captured[h] + amount, hold_amounts[h], hold_fees[h]) - hold_fee_captured[h];
            IF (named ->> 'final')::boolean THEN
              left_over := hold_left[h] - amount - price;
            END IF;
          END IF;
        END IF;
      END IF;
      -- The parties: who is named must be there, and be active where that is asked for.
      IF refusal IS NOT NULL THEN
        NULL;
      ELSIF p IS NULL AND debits[i] IS NOT NULL THEN
        refusal := 'debit_unknown';
      ELSIF q IS NULL AND (credits[i] IS NOT NULL OR own ? 'capture' AND NOT own @> '{"capture": {"destroyed": true}}') THEN
        refusal := 'credit_unknown';
      ELSIF is_payee_unknown THEN
        refusal := 'payee_unknown';
      ELSIF p = q AND (from_bucket = to_bucket OR own ? 'capture') OR own -> 'hold' ->> 'payee' = debits[i] THEN
        refusal := 'same_party';
      ELSIF active_mask & 1 = 1 AND NOT active[p] THEN
        refusal := 'debit_suspended';
      ELSIF active_mask & 2 = 2 AND NOT active[q] THEN
        refusal := 'credit_suspended';
      ELSE
        -- The fee, and whether the bucket covers it all.
        IF own ? 'fixed_fee' THEN
          price := (own ->> 'fixed_fee')::bigint;
        ELSIF fee_mode IN ('on_top', 'held') THEN
          sent := past_sent[p] + now_sent[p];
          most_held := greatest(funds[p][1], past_held[p], now_held[p]);
          IF sent <= div(most_held * policy[5]::numeric, policy[6]) THEN
            -- Nearly every transfer is here. Half to even; amount times numerator fits, as the amount is at most 10^18.
            price := amount * policy[1] / policy[2];
            rest := 2 * (amount * policy[1] % policy[2]);
            IF rest > policy[2] OR rest = policy[2] AND price % 2 = 1 THEN
              price := price + 1;
            END IF;
          ELSE
            price := ledger_fee_of_hot_payer(amount, sent, most_held, policy);
          END IF;
        END IF;
        fees[i] := price;
        IF (own ->> 'at_most')::boolean THEN
          amount := least(amount, funds[p][from_bucket]);
          IF amount = 0 THEN
            outcomes[i] := 'nothing';
            CONTINUE;
          END IF;
        END IF;
        IF is_still THEN
          IF step = 'reserve' AND NOT is_swap THEN
            -- Both are sums over many rows, which no order of this batch has written yet. A registry whose account a dry
            -- run does not open has sent nothing.
            IF p IS NOT NULL AND net_in_before[p] IS NULL THEN
              net_in_before[p] := ledger_net_in(account_ids[p]);
            END IF;
            entry_room := coalesce(entry_room, ledger_room_for_entry((own -> 'crossing' ->> 'supply_max')::bigint));
            IF coalesce(net_in_before[p] + net_in_change[p], 0) + amount
              > (own -> 'crossing' ->> 'net_in_limit')::bigint THEN
              refusal := 'beyond_net_in';
            ELSIF coalesce((SELECT sum(change) FROM unnest(net_in_change) change), 0) + amount > entry_room THEN
              refusal := 'beyond_supply';
            END IF;
          END IF;
        ELSIF p IS NULL OR h IS NOT NULL THEN
          NULL;
        ELSIF from_bucket = 4 THEN
          IF funds[p][4] - amount < floors[p] THEN
            refusal := 'beyond_limit';
          END IF;
        ELSIF funds[p][from_bucket] < (amount + CASE WHEN fee_mode = 'inside' THEN 0 ELSE price END) THEN
          refusal := 'uncovered';
          balances[i] := funds[p][from_bucket];
        END IF;
        IF NOT is_still AND to_bucket = 4 AND funds[q][4] + amount > ceilings[q] THEN
          refusal := 'beyond_limit';
        END IF;
      END IF;
      IF refusal IS NOT NULL THEN
        IF own ? 'group' THEN
          -- As if none of its orders had been given: everything is decided anew without them.
          lost_groups := lost_groups || (own ->> 'group')::int;
          lost_at := lost_at || i;
          lost_outcomes := lost_outcomes || refusal;
          lost_fees := lost_fees || fees[i];
          lost_balances := lost_balances || balances[i];
          CONTINUE walk;
        END IF;
        outcomes[i] := refusal;
        CONTINUE;
      END IF;

      IF x IS NOT NULL THEN
        crossing_changed[x] := true;
        crossing_states[x] := CASE step WHEN 'reserve' THEN 'reserved' WHEN 'commit' THEN 'committed' ELSE 'aborted' END;
        IF step = 'reserve' THEN
          crossing_agents[x] := CASE WHEN is_out THEN debits[i] ELSE credits[i] END;
          crossing_counterparties[x] := own -> 'crossing' ->> 'counterparty';
          crossing_amounts[x] := amount;
          crossing_fees[x] := coalesce((own -> 'crossing' ->> 'fee')::bigint, 0);
          IF is_again AND is_out THEN
            -- The transaction that was aborted has the reference: one transfer leaves once under each.
            more[i] := jsonb_set(own, '{ref}', to_jsonb(format('{%s}', crossing_transfers[x])));
          END IF;
        END IF;
        IF is_still THEN
          IF p IS NOT NULL AND NOT is_swap THEN
            net_in_change[p] := net_in_change[p] + CASE step WHEN 'reserve' THEN amount ELSE -amount END;
          END IF;
          outcomes[i] := 'recorded';
          moved_amounts[i] := 0;
          CONTINUE;
        ELSIF step = 'abort' OR is_out AND step = 'commit' THEN
          returned_by[x] := i;
        ELSE
          moved_by[x] := i;
        END IF;
      END IF;
      IF paced IS NOT NULL THEN
        -- A large share of the supply that goes round and round passes 64 bits: the minute then gets another entry.
        IF paced = 'sent' AND amount > 9223372036854775807 - now_sent[p] THEN
          past[p] := past[p]::bigint[] || ARRAY[this_minute, now_sent[p], now_held[p]];
          past_sent[p] := past_sent[p] + now_sent[p];
          past_held[p] := greatest(past_held[p], now_held[p]);
          now_sent[p] := 0;
          now_held[p] := 0;
        END IF;
        IF paced = 'sent' THEN
          now_sent[p] := now_sent[p] + amount;
        END IF;
        now_held[p] := greatest(now_held[p], funds[p][1]);
        is_paced[p] := true;
      END IF;
      done := done || i;
      k := cardinality(done);
      first_posting := first_posting || cardinality(posting_of) + 1;
      -- What leaves the debited bucket: the amount, a fee that goes elsewhere, and what a final capture frees.
      IF p IS NOT NULL THEN
        rest := amount + left_over + CASE WHEN fee_mode = 'inside' THEN 0 ELSE price END;
        funds[p][from_bucket] := funds[p][from_bucket] - rest;
        posting_of := posting_of || k;
        posting_place := posting_place || p;
        posting_bucket := posting_bucket || from_bucket;
        posting_delta := posting_delta || -rest;
        posting_after := posting_after || funds[p][from_bucket];
        is_changed[p] := true;
      END IF;
      IF q IS NOT NULL THEN
        rest := amount + CASE fee_mode WHEN 'inside' THEN -price WHEN 'held' THEN price ELSE 0 END;
        funds[q][to_bucket] := funds[q][to_bucket] + rest;
        posting_of := posting_of || k;
        posting_place := posting_place || q;
        posting_bucket := posting_bucket || to_bucket;
        posting_delta := posting_delta || rest;
        posting_after := posting_after || funds[q][to_bucket];
        is_changed[q] := true;
      END IF;
      IF left_over > 0 THEN
        funds[p][1] := funds[p][1] + left_over;
        posting_of := posting_of || k;
        posting_place := posting_place || p;
        posting_bucket := posting_bucket || 1;
        posting_delta := posting_delta || left_over;
        posting_after := posting_after || funds[p][1];
      END IF;
      IF price > 0 AND fee_mode <> 'held' THEN
        posting_of := posting_of || k;
        posting_bucket := posting_bucket || 1;
        posting_delta := posting_delta || price;
        IF collector_place IS NULL THEN
          fees_total := fees_total + price;
          posting_place := posting_place || 0;
          posting_after := posting_after || fees_total;
        ELSE
          funds[collector_place][1] := funds[collector_place][1] + price;
          is_changed[collector_place] := true;
          posting_place := posting_place || collector_place;
          posting_after := posting_after || funds[collector_place][1];
        END IF;
      END IF;
      IF h IS NOT NULL THEN
        hold_is_touched[h] := true;
        IF own ? 'release' THEN
          hold_left[h] := 0;
          hold_endings[h] := CASE WHEN (named ->> 'due')::boolean THEN 'expired' ELSE 'released' END;
        ELSE
          hold_captured[h] := hold_captured[h] + amount;
          hold_fee_captured[h] := hold_fee_captured[h] + price;
          hold_left[h] := hold_left[h] - amount - price - left_over;
          IF hold_left[h] = 0 THEN
            hold_endings[h] := 'captured';
          END IF;
        END IF;
      ELSIF own ? 'hold' THEN
        opened_orders := opened_orders || i;
      END IF;
      outcomes[i] := 'posted';
      IF own IS NULL THEN
        balances[i] := funds[p][1];
      ELSE
        moved_amounts[i] := amount;
        balances[i] := funds[coalesce(p, q)][CASE WHEN h IS NULL THEN from_bucket ELSE 1 END];
        credited_balances[i] := funds[q][to_bucket];
      END IF;
      debit_places := debit_places || p;
      credit_places := credit_places || q;
    END LOOP;
    EXIT walk;
  END LOOP;

  IF claimed <> '{}' THEN
    unclaimed := ledger_claims_to_undo(claimed, more, outcomes, fees, balances, kept_answers);
    IF unclaimed IS NOT NULL THEN
      RAISE EXCEPTION 'claims have to be undone' USING ERRCODE = 'UE002', DETAIL = unclaimed;
    END IF;
  END IF;
  carried := done;
  IF has_more THEN
    carried := ARRAY(
      SELECT i FROM generate_series(1, size) i WHERE outcomes[i] IN ('posted', 'recorded', 'repeated', 'nothing'));
  END IF;
  IF NOT dry AND 'repeated' = ANY (outcomes) THEN
    -- The step was done by an earlier transaction, of which perhaps no standby knows.
    PERFORM plumbing_await_standbys();
  END IF;
  IF dry OR carried = '{}' THEN
    RETURN QUERY SELECT outcomes[n], tx_ids[n], moved_amounts[n], fees[n], balances[n], credited_balances[n], opened[n],
      kept_answers[n], now() FROM generate_series(1, size) n;
    RETURN;
  END IF;

  receipts := array_fill(NULL::text, ARRAY[size]);
  IF done <> '{}' THEN
    -- The last row that is locked. The ids are drawn after that: they rise in the order in which its balance changes.
    collector_before := 0;
    IF fees_total > 0 THEN
      SELECT a.ctid, a.id, a.liquid INTO STRICT collector_tid, collector_id, collector_before
      FROM ledger_account a WHERE a.did = collector AND a.unit = '' FOR NO KEY UPDATE;
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
  IF claimed <> '{}' THEN
    FOR extension IN SELECT * FROM ledger_record(claimed, more, amounts, debits, credits, tx_ids, moved_amounts, fees,
      balances, credited_balances, opened) LOOP
      kept_answers[extension.place] := coalesce(kept_answers[extension.place]::jsonb, '{}') || extension.result;
    END LOOP;
  END IF;
  IF has_more THEN
    FOR remembered IN SELECT * FROM ledger_receipts(carried, scopes, more, tx_ids, moved_amounts, fees, balances, opened,
      kept_answers, microseconds) LOOP
      receipts[remembered.place] := remembered.receipts;
    END LOOP;
  END IF;
  PERFORM plumbing_remember(scopes, digests, receipts);
  RETURN QUERY SELECT outcomes[n], tx_ids[n], moved_amounts[n], fees[n], balances[n], credited_balances[n], opened[n],
    kept_answers[n], now() FROM generate_series(1, size) n;
END $$;
