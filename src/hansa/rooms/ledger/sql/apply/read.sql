-- The orders as arrays, the state of their keys, and the parties and holds that they name.
DECLARE
  debits text[]; credits text[]; amounts bigint[]; messages text[]; scopes bytea[]; digests bytea[]; barred boolean[];
  more jsonb[]; callers text[]; versions int[]; changed bigint[];
  -- Keys before anything is decided; `known` are outcomes that are certain by then.
  recalled record; held boolean[]; kept_digests bytea[]; kept_answers text[]; known text[];
  -- Accounts to lock; payers whose velocity is read; ids of holds; orders on crossings.
  parties text[]; payers text[]; named_holds bigint[]; crossing_orders int[] := '{}';
  -- Some order is more than a transfer; some order has an extension.
  has_more boolean := false; is_extended boolean := false;
  -- Orders that make their groups lost, with their outcomes.
  lost_groups int[] := '{}'; lost_at int[] := '{}'; lost_outcomes text[] := '{}'; lost_fees bigint[] := '{}';
  lost_balances bigint[] := '{}';
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
