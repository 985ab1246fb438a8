"""Plumbing: functions that SQL files created once, and that neither a file nor a process of this version uses."""

from alembic import op

revision = "0238"
down_revision = "0237"

# The version before this one calls none of them. An older one calls some; its processes stop before a later version starts.
SQL = """
DROP FUNCTION IF EXISTS commerce_authorize_record(jsonb);
DROP FUNCTION IF EXISTS commerce_counts(text, text);
DROP FUNCTION IF EXISTS commerce_lock_tokens(jsonb);
DROP FUNCTION IF EXISTS commerce_not_open(jsonb, text[]);
DROP FUNCTION IF EXISTS commerce_verify(bytea[], text[], text[]);
DROP FUNCTION IF EXISTS journal_append_ledger(text, text, text, text[], text[], text[], jsonb[], text[], bigint[], text[],
  text[], bigint[], bigint[], bigint[], bigint[], bigint[], bigint[], bigint[], text[]);
DROP FUNCTION IF EXISTS ledger_append_events(text, text, text, bigint, text[], text[], text[], text[], jsonb[], int[],
  bigint[], bigint[], bigint[], int[], int[], int[], bigint[], bigint[]);
DROP FUNCTION IF EXISTS ledger_claim(jsonb[]);
DROP FUNCTION IF EXISTS ledger_covers(text, text, bigint);
DROP FUNCTION IF EXISTS ledger_extension_lines(int[], jsonb[], bigint[], text[], text[]);
DROP FUNCTION IF EXISTS ledger_open_crossing_accounts(int[], jsonb[]);
DROP FUNCTION IF EXISTS ledger_record(jsonb[]);
DROP FUNCTION IF EXISTS ledger_recorded_lines(jsonb[], jsonb[], bigint[], bigint[], bigint[], bigint[], bigint[], bigint[]);
DROP FUNCTION IF EXISTS ledger_remember_orders(int[], bytea[], bytea[], jsonb[], bigint[], bigint[], bigint[], bigint[],
  bigint[], text[], bigint);
DROP FUNCTION IF EXISTS ledger_transfer_batch(text, text, text, bigint[], json, int);
DROP FUNCTION IF EXISTS ledger_unclaimed_accounts(int[], jsonb[]);
DROP FUNCTION IF EXISTS ledger_write_entries(jsonb[], int[], bigint[], text[], bigint[], bigint[], bigint[], bigint[], int[],
  int[], bigint, bigint, int[], int[], int[], bigint[], bigint[]);
"""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(SQL)
