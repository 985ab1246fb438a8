"""Catalogue: versions of cards, tombstones, what owners write."""

from alembic import op

revision = "0021"
down_revision = "0020"

SQL = """
ALTER TABLE catalogue_card
  -- The document as it stands now: which one of the card's it is, since when, and who brought it.
  ADD version int NOT NULL DEFAULT 1 CHECK (version >= 1),
  ADD document_since timestamptz NOT NULL DEFAULT now(),
  ADD document_source text NOT NULL DEFAULT 'owner' CHECK (document_source IN ('owner', 'pull')),
  -- What the agent itself last served: until that changes, an owner's word stands.
  ADD pulled_hash bytea CHECK (length(pulled_hash) = 32),
  -- Since when the card is in no public listing; a tombstone tells of it for some days.
  ADD hidden_since timestamptz,
  -- The document of a revoked card is forgotten in the end; the DID and the status stay.
  ADD is_erased boolean NOT NULL DEFAULT false CHECK (is_erased = false OR status = 'revoked');
UPDATE catalogue_card SET document_since = created_at,
  hidden_since = CASE WHEN is_active AND NOT unlisted AND status = 'active' THEN NULL ELSE updated_at END;
CREATE INDEX catalogue_card_to_erase ON catalogue_card (hidden_since) WHERE status = 'revoked' AND NOT is_erased;

CREATE FUNCTION catalogue_mark_hidden() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.is_active AND NOT NEW.unlisted AND NEW.status = 'active' THEN
    NEW.hidden_since := NULL;
  ELSIF TG_OP = 'INSERT' OR OLD.hidden_since IS NULL OR (NEW.status = 'revoked' AND OLD.status <> 'revoked') THEN
    NEW.hidden_since := clock_timestamp();
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER catalogue_card_hidden BEFORE INSERT OR UPDATE OF is_active, unlisted, status
  ON catalogue_card FOR EACH ROW EXECUTE FUNCTION catalogue_mark_hidden();

-- The documents that a card had before the one it has now.
CREATE TABLE catalogue_card_version (
  card_id bigint NOT NULL REFERENCES catalogue_card ON DELETE CASCADE,
  version int NOT NULL CHECK (version >= 1),
  card_data json NOT NULL,
  card_hash bytea NOT NULL CHECK (length(card_hash) = 32),
  source text NOT NULL CHECK (source IN ('owner', 'pull')),
  valid_from timestamptz NOT NULL,
  valid_until timestamptz NOT NULL,
  PRIMARY KEY (card_id, version)
);
"""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(SQL)
