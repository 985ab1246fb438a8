"""The whole content of a database as it was earlier, under a registry that goes on: as after the restore of a backup."""

from hansa.foundation.plumbing.storage.database import Tx
from tests.neighbours.two_registries import Neighbour

_TABLES = """
SELECT format('%I.%I', n.nspname, c.relname), string_agg(quote_ident(attname), ', ' ORDER BY attnum)
FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace
JOIN pg_attribute ON attrelid = c.oid AND attnum > 0 AND NOT attisdropped AND attgenerated = ''
WHERE nspname = 'public' AND relkind IN ('r', 'p') AND NOT relispartition GROUP BY 1
"""
# Numbers that were given since are given again.
_NUMBERS = """
SELECT format('SELECT setval(%L, %s, %L);', seqrelid::regclass, coalesce(last_value, seqstart), last_value IS NOT NULL)
FROM pg_sequence, pg_sequence_last_value(seqrelid) AS last_value
"""


async def backed_up(one: Neighbour) -> str:
    """A backup of everything: the statements that bring it back."""

    async def read(tx: Tx) -> str:
        # Triggers and foreign keys are off: every table gets exactly the rows that it had.
        statements = ["SET LOCAL session_replication_role = replica;"]
        columns = dict(await tx.fetch(_TABLES))
        arrays = ", ".join(f"(SELECT quote_literal(array_agg(t)) FROM {table} t)" for table in columns)
        for table, rows in zip(columns, await tx.fetchval(f"SELECT ARRAY[{arrays}]"), strict=True):
            statements.append(f"DELETE FROM {table};")
            if rows is not None:
                members = columns[table]
                statements.append(
                    f"INSERT INTO {table} ({members}) OVERRIDING SYSTEM VALUE"
                    f" SELECT {members} FROM unnest({rows}::{table}[]);"
                )
        statements += [statement for (statement,) in await tx.fetch(_NUMBERS)]
        return "\n".join(statements)

    return await one.registry.database.read(read)


async def put_back(one: Neighbour, backup: str) -> None:
    """Everything is as it was in the backup."""
    await one.registry.database.transaction(lambda tx: tx.execute(backup))


async def put_back_later(one: Neighbour, backup: str, dispute_id: int) -> None:
    """Put the backup back like `put_back`, in a later second than the dispute was filed: its number is not assigned again."""
    await put_back(one, backup)
    later = "SELECT setval('commerce_dispute_id_seq', greatest(last_value, $1)) FROM commerce_dispute_id_seq"
    await one.registry.database.transaction(lambda tx: tx.execute(later, dispute_id))
