-- The wait for the synchronous standbys in transactions that write nothing of their own.

-- Make the commit of this transaction wait for the synchronous standbys, where there are any: they then have every row that
-- the transaction could see (`plumbing/storage/connection.py`).
CREATE OR REPLACE FUNCTION plumbing_await_standbys() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF current_setting('synchronous_standby_names') <> '' THEN
    PERFORM pg_logical_emit_message(true, 'hansa', '');
  END IF;
END $$;
