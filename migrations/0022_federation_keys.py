"""Federation: the keys with which the registry signs."""

from alembic import op

revision = "0022"
down_revision = "0021"

SQL = """
-- Every key that the registry ever signed with. The private half is sealed, and forgotten when the key is retired.
CREATE TABLE federation_registry_key (
  sequence integer PRIMARY KEY CHECK (sequence > 0),
  registry_id text NOT NULL CHECK (registry_id ~ '^spiffe://' AND length(registry_id) <= 512),
  public_key bytea NOT NULL UNIQUE CHECK (octet_length(public_key) = 32),
  sealed_key bytea,
  valid_from timestamptz NOT NULL,
  retired_at timestamptz CHECK (retired_at > valid_from),
  CHECK ((retired_at IS NULL) = (sealed_key IS NOT NULL))
);
CREATE UNIQUE INDEX federation_registry_key_present ON federation_registry_key ((true)) WHERE retired_at IS NULL;

-- What was signed is verified against this history: a key may be retired, once, and nothing else.
CREATE FUNCTION federation_keep_history() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'UPDATE' AND OLD.retired_at IS NULL AND NEW.retired_at IS NOT NULL
    AND (NEW.sequence, NEW.registry_id, NEW.public_key, NEW.valid_from)
      IS NOT DISTINCT FROM (OLD.sequence, OLD.registry_id, OLD.public_key, OLD.valid_from) THEN
    RETURN NEW;
  END IF;
  RAISE EXCEPTION USING MESSAGE = 'the history of keys is kept: ' || TG_OP || ' is refused',
    ERRCODE = 'integrity_constraint_violation';
END $$;
CREATE TRIGGER federation_registry_key_history BEFORE UPDATE OR DELETE ON federation_registry_key
  FOR EACH ROW EXECUTE FUNCTION federation_keep_history();
CREATE TRIGGER federation_registry_key_kept BEFORE TRUNCATE ON federation_registry_key
  FOR EACH STATEMENT EXECUTE FUNCTION federation_keep_history();
"""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(SQL)
