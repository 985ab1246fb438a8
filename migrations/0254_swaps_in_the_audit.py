"""Transfers and auditor: what swaps moved with each peer, for the totals that two registries compare."""

from alembic import op

revision = "0254"
down_revision = "0253"

SQL = """
-- Of swaps of agents here (`out`) and there (`in`), in the own currency and in that of the peer.
CREATE TABLE transfers_swapped (
  peer text NOT NULL,
  frame text NOT NULL,
  currency text NOT NULL,
  own_out numeric(38) NOT NULL CHECK (own_out >= 0),
  foreign_out numeric(38) NOT NULL CHECK (foreign_out >= 0),
  own_in numeric(38) NOT NULL CHECK (own_in >= 0),
  foreign_in numeric(38) NOT NULL CHECK (foreign_in >= 0),
  PRIMARY KEY (peer, currency)
);
-- The promise of a committed swap states what its receiver got.
INSERT INTO transfers_swapped (peer, frame, currency, own_out, foreign_out, own_in, foreign_in)
SELECT peer, min(frame), currency, sum(own_out), sum(foreign_out), sum(own_in), sum(foreign_in) FROM (
  SELECT peer, frame, currency_received AS currency, amount AS own_out, ((convert_from(decode(rpad(
      translate(split_part(prepared, '.', 2), '-_', '+/'), (length(split_part(prepared, '.', 2)) + 3) / 4 * 4, '='), 'base64'),
    'UTF8')::jsonb ->> 'net')::numeric * 100000000)::bigint AS foreign_out, 0 AS own_in, 0 AS foreign_in
  FROM transfers_sent WHERE state = 'committed' AND currency_received IS NOT NULL AND prepared <> ''
  UNION ALL
  SELECT peer, frame, currency, 0, 0, net, amount FROM transfers_received
  WHERE state = 'committed' AND currency_received IS NOT NULL
) AS swapped GROUP BY peer, currency;

CREATE TABLE auditor_swap_pair (
  ledger_id text NOT NULL,
  currency text NOT NULL,
  stated_in numeric(38) NOT NULL,
  surplus numeric(38) NOT NULL CHECK (surplus >= 0),
  deficit numeric(38) NOT NULL CHECK (deficit >= 0),
  compared_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (ledger_id, currency)
);
"""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(SQL)
