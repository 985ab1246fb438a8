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
--   capture  {id, final, destroyed}: pay `amount` of a hold to `credit`, with its part of the held fee, or with the fee
--     `inside`, which `credit` pays of the amount; `final` frees the rest; `destroyed` pays nobody: the amount ceases to be, and tx_type is `destroy`
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
-- `policy` holds the rates of the fee over time (`ledger_fees_at`); those in force at now() decide.
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
  -- The largest amount whose product with the numerator of the base rate fits.
  plain_max bigint;
  -- declarations of the parts
BEGIN
  IF cardinality(policy) <> 17 OR microseconds >= policy[9] THEN
    policy := ledger_fees_at(policy, now());
  END IF;
  plain_max := 9223372036854775807 / greatest(policy[1], 1);
  -- part: read.sql

  -- part: claim.sql

  -- part: lock.sql

  <<walk>>
  LOOP
    -- part: load.sql

    FOR i IN 1 .. size LOOP
      -- part: walk/order.sql
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
          -- part: walk/crossing.sql
        END IF;
        -- part: walk/hold.sql
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
        -- part: walk/fee.sql
        -- part: walk/cover.sql
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
        -- part: walk/step.sql
      END IF;
      -- part: walk/post.sql
      -- part: walk/result.sql
    END LOOP;
    EXIT walk;
  END LOOP;

  -- part: conclude.sql

  -- part: write.sql
  -- part: answer.sql
END $$;
