"""The whole content of a database as it was earlier, under a registry that goes on: as after the restore of a backup."""

from uuid import uuid4

from tests.neighbours.two_registries import Neighbour

_BACK_UP = """
DO $$ DECLARE name text; BEGIN
  CREATE SCHEMA {schema};
  FOR name IN SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition
  LOOP EXECUTE format('CREATE TABLE {schema}.%I AS TABLE public.%I', name, name); END LOOP;
  CREATE TABLE {schema}.numbers AS SELECT sequencename, last_value FROM pg_sequences WHERE schemaname = 'public';
END $$
"""
# Triggers and foreign keys are off: every table gets exactly the rows that it had.
_RESTORE = """
DO $$ DECLARE name text; members text; BEGIN
  SET LOCAL session_replication_role = replica;
  FOR name, members IN SELECT relname, string_agg(quote_ident(attname), ', ' ORDER BY attnum) FROM pg_class
    JOIN pg_attribute ON attrelid = pg_class.oid AND attnum > 0 AND NOT attisdropped AND attgenerated = ''
    WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition GROUP BY relname
  LOOP
    EXECUTE format('DELETE FROM public.%I', name);
    EXECUTE format('INSERT INTO public.%I (%s) OVERRIDING SYSTEM VALUE SELECT %s FROM {schema}.%I', name, members, members, name);
  END LOOP;
  -- Numbers that were given since are given again.
  PERFORM setval(format('public.%I', sequencename), coalesce(last_value, 1), last_value IS NOT NULL) FROM {schema}.numbers;
END $$
"""


async def backed_up(one: Neighbour) -> str:
    """A backup of everything; its name."""
    name = f"backup_{uuid4().hex[:8]}"
    await one.registry.database.act(lambda tx: tx.execute(_BACK_UP.format(schema=name)))
    return name


async def put_back(one: Neighbour, backup: str) -> None:
    """Everything is as it was in the backup."""
    await one.registry.database.act(lambda tx: tx.execute(_RESTORE.format(schema=backup)))


async def put_back_later(one: Neighbour, backup: str, dispute_id: int) -> None:
    """As `put_back`, in a later second than that in which this dispute was filed: its number is not given again."""
    await put_back(one, backup)
    later = "SELECT setval('commerce_dispute_id_seq', greatest(last_value, $1)) FROM commerce_dispute_id_seq"
    await one.registry.database.act(lambda tx: tx.execute(later, dispute_id))
