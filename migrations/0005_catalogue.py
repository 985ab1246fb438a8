"""Catalogue: agent cards, native and mirrored."""

from alembic import op

revision = "0005"
down_revision = "0004"

SQL = """
CREATE TABLE catalogue_card (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  uuid uuid NOT NULL UNIQUE,
  did text UNIQUE CHECK (length(did) BETWEEN 10 AND 512),
  human_readable_id text NOT NULL CHECK (length(human_readable_id) BETWEEN 3 AND 129),
  developer_id bigint,
  name text NOT NULL CHECK (length(name) BETWEEN 1 AND 253),
  description text NOT NULL CHECK (length(description) <= 8192),
  -- The document word for word: jsonb would spell out a number such as 1e308.
  card_data json NOT NULL,
  card_bytes int NOT NULL,
  pricing json,
  tags text[] NOT NULL DEFAULT '{}',
  tee_type text,
  encircled boolean NOT NULL DEFAULT false,
  is_stub boolean NOT NULL DEFAULT false,
  host text CHECK (length(host) <= 2048),
  CHECK (is_stub = false OR host IS NOT NULL),
  is_active boolean NOT NULL DEFAULT true,
  status text NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'suspended', 'revoked')),
  unlisted boolean NOT NULL DEFAULT false,
  settlement_currency text NOT NULL CHECK (length(settlement_currency) BETWEEN 2 AND 8),
  trust_domain text NOT NULL CHECK (length(trust_domain) <= 253),
  source_registry text CHECK (length(source_registry) <= 253),
  CHECK ((source_registry IS NULL) = (developer_id IS NOT NULL)),
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  last_pull_attempt_at timestamptz,
  last_pull_status text,
  pull_failures int NOT NULL DEFAULT 0 CHECK (pull_failures >= 0),
  -- Which transaction changed the card last: a "changed since" reading stops before the oldest open one.
  changed_xid bigint NOT NULL DEFAULT 0,
  -- Case-folded, for searching.
  name_text text NOT NULL,
  description_text text NOT NULL,
  tags_text text NOT NULL,
  skills_text text NOT NULL,
  found_text text NOT NULL GENERATED ALWAYS AS
    (name_text || chr(31) || tags_text || chr(31) || skills_text || chr(31) || description_text) STORED
);
CREATE UNIQUE INDEX catalogue_card_native_hri ON catalogue_card (human_readable_id) WHERE source_registry IS NULL;
CREATE INDEX catalogue_card_mirrored_hri ON catalogue_card (human_readable_id) WHERE source_registry IS NOT NULL;
CREATE INDEX catalogue_card_developer ON catalogue_card (developer_id, id);
CREATE INDEX catalogue_card_shown ON catalogue_card (id)
  WHERE is_active AND NOT unlisted AND status = 'active' AND source_registry IS NULL;
CREATE INDEX catalogue_card_updated ON catalogue_card (updated_at, id);
CREATE INDEX catalogue_card_changed ON catalogue_card (changed_xid);
CREATE INDEX catalogue_card_tags ON catalogue_card USING gin (tags);

-- No writer can forget to mark a change. Bookkeeping of pulls is not a change of the card.
CREATE FUNCTION catalogue_mark_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.updated_at := clock_timestamp();
  IF TG_OP = 'INSERT' THEN
    NEW.created_at := NEW.updated_at;
  END IF;
  NEW.changed_xid := pg_current_xact_id()::text::bigint;
  RETURN NEW;
END $$;
CREATE TRIGGER catalogue_card_changed BEFORE INSERT OR UPDATE OF did, human_readable_id, name, description, card_data,
  encircled, is_stub, is_active, status, unlisted, settlement_currency, trust_domain, source_registry
  ON catalogue_card FOR EACH ROW EXECUTE FUNCTION catalogue_mark_change();
"""

# Search is right without trigrams and fast with them; the extension may be missing or not ours to create.
TRIGRAMS = """
DO $$
BEGIN
  IF EXISTS (SELECT FROM pg_available_extensions WHERE name = 'pg_trgm') THEN
    CREATE EXTENSION IF NOT EXISTS pg_trgm;
    CREATE INDEX catalogue_card_found ON catalogue_card USING gin (found_text gin_trgm_ops);
  END IF;
EXCEPTION WHEN insufficient_privilege OR undefined_object OR undefined_file OR unique_violation THEN
  RAISE NOTICE USING MESSAGE = 'catalogue search runs without trigram index: ' || SQLERRM;
END $$;
"""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(SQL)
    op.get_bind().exec_driver_sql(TRIGRAMS)
