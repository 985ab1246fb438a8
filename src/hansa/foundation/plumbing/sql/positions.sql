-- Positions of transactions: a transaction id plus the shift of this database (positions.py).
-- The shift itself, `plumbing_position_shift()`, is in no file: it holds a number that belongs to one database, which
-- `settle_positions` writes. Replacing it would set that number back.

-- The position of this transaction.
CREATE OR REPLACE FUNCTION plumbing_position() RETURNS bigint LANGUAGE sql STABLE
RETURN pg_current_xact_id()::text::bigint + plumbing_position_shift();

-- Every transaction before this position has ended.
CREATE OR REPLACE FUNCTION plumbing_oldest_open() RETURNS bigint LANGUAGE sql STABLE PARALLEL SAFE
RETURN pg_snapshot_xmin(pg_current_snapshot())::text::bigint + plumbing_position_shift();

-- No transaction from this position on is visible.
CREATE OR REPLACE FUNCTION plumbing_not_begun() RETURNS bigint LANGUAGE sql STABLE PARALLEL SAFE
RETURN pg_snapshot_xmax(pg_current_snapshot())::text::bigint + plumbing_position_shift();
