"""Transfers: decisions about sagas of the bridge are in the chain of the pair, and are sent again after a restore."""

from alembic import op

revision = "0183"
down_revision = "0181"

SQL = """
ALTER TABLE transfers_entry DROP CONSTRAINT transfers_entry_entry_check;
ALTER TABLE transfers_entry ADD CONSTRAINT transfers_entry_entry_check
  CHECK (entry IN ('commit', 'abort', 'receipt', 'saga_decided', 'saga_ended'));

-- IN_DOUBT: minted before a restore, and there are no units to be locked for it now. What has ended is due as well, once one of the two
-- registries was restored: until the other one has answered what it decided.
ALTER TABLE transfers_bridge_saga
  DROP CONSTRAINT transfers_bridge_saga_state_check,
  DROP CONSTRAINT transfers_bridge_saga_check2,
  DROP CONSTRAINT transfers_bridge_saga_check3;
ALTER TABLE transfers_bridge_saga
  ADD CONSTRAINT transfers_bridge_saga_state_check CHECK (state IN ('LOCKED', 'MINT_REQUESTED', 'BURNED', 'UNLOCK_REQUESTED',
    'TIMED_OUT', 'COMPLETED', 'REFUNDED', 'FAILED', 'IN_DOUBT')),
  -- A saga that was locked again after a restore has no hold.
  ADD CONSTRAINT transfers_bridge_saga_held CHECK (CASE WHEN direction = 'redeem' THEN hold_id IS NULL
    ELSE hold_id IS NOT NULL OR state IN ('COMPLETED', 'IN_DOUBT') END),
  ADD CONSTRAINT transfers_bridge_saga_due CHECK (next_at IS NOT NULL
    OR state IN ('COMPLETED', 'REFUNDED', 'FAILED', 'IN_DOUBT'));
CREATE INDEX transfers_bridge_saga_in_doubt ON transfers_bridge_saga (peer) WHERE state = 'IN_DOUBT';

-- When the source is sent the decision again; null once it confirmed it. A decision is in doubt when it was cancelled before a restore and
-- unlocked after it, and nobody has the units that are to be locked again.
ALTER TABLE transfers_bridge_decision
  ADD COLUMN next_at timestamptz,
  ADD COLUMN tries integer NOT NULL DEFAULT 0,
  ADD COLUMN is_in_doubt boolean NOT NULL DEFAULT false CHECK (NOT is_in_doubt OR is_done);
CREATE INDEX transfers_bridge_decision_due ON transfers_bridge_decision (peer, next_at) WHERE next_at IS NOT NULL;
CREATE INDEX transfers_bridge_decision_in_doubt ON transfers_bridge_decision (peer) WHERE is_in_doubt;

-- Own units that are locked for each agent of another registry that holds them wrapped: no agent redeems more.
CREATE TABLE transfers_locked (
  peer text NOT NULL,
  holder_did text NOT NULL CHECK (length(holder_did) <= 512),
  locked bigint NOT NULL CONSTRAINT transfers_locked_is_covered CHECK (locked >= 0),
  PRIMARY KEY (peer, holder_did)
);
INSERT INTO transfers_locked (peer, holder_did, locked)
SELECT peer, holder_did, greatest(sum(amount), 0) FROM (
  SELECT peer, receiver_did AS holder_did, amount FROM transfers_bridge_saga WHERE direction = 'wrap' AND state = 'COMPLETED'
  UNION ALL
  SELECT peer, sender_did, -amount FROM transfers_bridge_decision WHERE direction = 'redeem' AND is_done
) moved GROUP BY peer, holder_did;

-- What is minted again after it was taken back has the next `turn`; in each turn a posting is made once.
ALTER TABLE transfers_wrapped_posting DROP CONSTRAINT transfers_wrapped_posting_kind_check,
  DROP CONSTRAINT transfers_wrapped_posting_check, DROP CONSTRAINT transfers_wrapped_posting_pkey;
ALTER TABLE transfers_wrapped_posting
  ADD COLUMN turn integer NOT NULL DEFAULT 0,
  ADD PRIMARY KEY (peer, saga_id, kind, turn),
  ADD CONSTRAINT transfers_wrapped_posting_kind_check CHECK (kind IN ('mint', 'burn', 'return', 'take_back')),
  ADD CONSTRAINT transfers_wrapped_posting_sign CHECK ((delta < 0) = (kind IN ('burn', 'take_back')));
"""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(SQL)
