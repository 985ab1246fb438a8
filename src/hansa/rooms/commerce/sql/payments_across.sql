-- Payment tokens whose payee is an agent of another registry: the commit of the transfer settles them.
-- after: journal/appending.sql
-- after: ledger/fees.sql

-- Settle a token by the transaction that took its units out, whatever its status was: what was paid is settled, once. The
-- event stands with the movement.
CREATE OR REPLACE FUNCTION commerce_paid_across(token uuid, movement bigint, frame text, currency text) RETURNS void
LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  settled commerce_payment_token;
BEGIN
  UPDATE commerce_payment_token t SET status = 'settled', ended_at = clock_timestamp(), tx_id = movement, fee = 0,
    counts = false, crossed = true, reason = NULL, settling_at = coalesce(t.settling_at, clock_timestamp())
  WHERE t.id = token AND t.status <> 'settled' RETURNING t.* INTO STRICT settled;
  PERFORM journal_append_decided('{A2APaymentSettled}', ARRAY[settled.caller], '{agent}', ARRAY[jsonb_build_object(
    'token_id', settled.id, 'tx_id', settled.tx_id, 'caller', settled.caller, 'payee', settled.payee,
    'amount', ledger_amount(coalesce(settled.capture_amount, settled.amount)), 'currency', currency,
    'task_id', settled.task_id, 'fee', '0', 'counts', false, 'transfer_id', settled.id)],
    '{ledger}', ARRAY[concat('ledger-tx-', frame, '-', movement, '-payment')]);
END $$;
