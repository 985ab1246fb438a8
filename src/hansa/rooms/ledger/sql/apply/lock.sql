-- Locks: holds by id, agents' accounts by id, accounts of the registry by id. A dry run reads without locks.
DECLARE
  -- Holds that are named, in id order: terms that never change.
  hold_ids bigint[]; hold_place jsonb; hold_payers text[]; hold_payees text[]; hold_amounts bigint[]; hold_fees bigint[];
  -- Locked accounts, agents before the registry's own, each kind in id order.
  accounts ledger_account[]; account_tids tid[];
BEGIN
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
