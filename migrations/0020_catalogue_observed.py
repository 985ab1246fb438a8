"""Catalogue: what the platform observes of a card's agent, and which transaction last changed what a search shows."""

from alembic import op

revision = "0020"
down_revision = "0019"

SQL = """
ALTER TABLE catalogue_card
  ADD liveness text NOT NULL DEFAULT 'unknown' CHECK (liveness IN ('unknown', 'alive', 'unreachable')),
  ADD liveness_checked_at timestamptz,
  ADD last_alive_at timestamptz,
  -- When the agent's own host last served this card, and when its signature was last found to be the agent's.
  ADD host_verified_at timestamptz,
  ADD signature_verified_at timestamptz,
  ADD verified_jobs int NOT NULL DEFAULT 0 CHECK (verified_jobs >= 0),
  ADD bonded boolean NOT NULL DEFAULT false,
  ADD search_xid bigint NOT NULL DEFAULT 0;
UPDATE catalogue_card SET search_xid = changed_xid;
CREATE INDEX catalogue_card_search ON catalogue_card (search_xid);

-- Search follows more than readers of changes do: what is observed of an agent is no change of its card.
CREATE FUNCTION catalogue_mark_search() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.search_xid := pg_current_xact_id()::text::bigint;
  RETURN NEW;
END $$;
CREATE TRIGGER catalogue_card_search BEFORE INSERT OR UPDATE OF did, human_readable_id, name, description, card_data,
  encircled, is_stub, is_active, status, unlisted, settlement_currency, trust_domain, source_registry, liveness,
  last_alive_at, host_verified_at, signature_verified_at, verified_jobs, bonded
  ON catalogue_card FOR EACH ROW EXECUTE FUNCTION catalogue_mark_search();
"""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(SQL)
