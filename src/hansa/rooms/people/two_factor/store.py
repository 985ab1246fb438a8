"""Every statement on people_second_factor and people_backup_code.

The row of the second factor is locked before a code is looked at: the codes of one account are judged one by one.
"""

from dataclasses import dataclass, field

from hansa.foundation.plumbing.storage.database import Tx


@dataclass(frozen=True)
class SecondFactor:
    """An authenticator app that is set up. `now` is the database's time in epoch seconds."""

    is_on: bool
    sealed_seed: bytes = field(repr=False)
    last_step: int
    pause_seconds: int | None
    now: int


async def keep_seed(tx: Tx, developer_id: int, sealed_seed: bytes) -> bool:
    """Begin a setup, or begin it anew; False when two-factor login is on."""
    stored = await tx.fetchval(
        "INSERT INTO people_second_factor AS f (developer_id, sealed_seed) VALUES ($1, $2)"
        " ON CONFLICT (developer_id) DO UPDATE SET sealed_seed = $2, wrong_codes = 0, last_step = 0,"
        " paused_until = NULL WHERE f.enabled_at IS NULL RETURNING true",
        developer_id,
        sealed_seed,
    )
    return stored is not None


async def lock_second_factor(tx: Tx, developer_id: int) -> SecondFactor | None:
    row = await tx.fetchrow(
        "SELECT enabled_at IS NOT NULL AS is_on, sealed_seed, last_step,"
        " ceil(extract(epoch FROM paused_until - clock_timestamp()))::int AS pause_seconds,"
        " extract(epoch FROM clock_timestamp())::bigint AS now"
        " FROM people_second_factor WHERE developer_id = $1 FOR UPDATE",
        developer_id,
    )
    return SecondFactor(**row) if row else None


async def is_on(tx: Tx, developer_id: int) -> bool:
    found = await tx.fetchval(
        "SELECT true FROM people_second_factor WHERE developer_id = $1 AND enabled_at IS NOT NULL",
        developer_id,
    )
    return found is not None


async def take_step(tx: Tx, developer_id: int, step: int) -> bool:
    """Burn the codes up to this step; False when they are burnt."""
    taken = await tx.fetchval(
        "UPDATE people_second_factor SET last_step = $2, wrong_codes = 0, paused_until = NULL"
        " WHERE developer_id = $1 AND last_step < $2 RETURNING true",
        developer_id,
        step,
    )
    return taken is not None


async def take_backup_code(tx: Tx, developer_id: int, code_hash: bytes) -> bool:
    """Burn the code; False when there is none such."""
    taken = await tx.fetchval(
        "WITH taken AS (DELETE FROM people_backup_code WHERE developer_id = $1 AND code_hash = $2 RETURNING true)"
        " UPDATE people_second_factor SET wrong_codes = 0, paused_until = NULL"
        " WHERE developer_id = $1 AND EXISTS (SELECT FROM taken) RETURNING true",
        developer_id,
        code_hash,
    )
    return taken is not None


async def count_wrong_code(tx: Tx, developer_id: int, wrong_codes_max: int, pause_minutes: int) -> None:
    await tx.execute(
        "UPDATE people_second_factor SET wrong_codes = wrong_codes + 1, paused_until = CASE"
        " WHEN wrong_codes + 1 >= $2 THEN clock_timestamp() + make_interval(mins => $3) END"
        " WHERE developer_id = $1",
        developer_id,
        wrong_codes_max,
        pause_minutes,
    )


async def turn_on(tx: Tx, developer_id: int, backup_code_hashes: list[bytes]) -> None:
    await tx.execute(
        "UPDATE people_second_factor SET enabled_at = now() WHERE developer_id = $1", developer_id
    )
    await tx.execute(
        "INSERT INTO people_backup_code (developer_id, code_hash) SELECT $1, unnest($2::bytea[])",
        developer_id,
        backup_code_hashes,
    )


async def forget(tx: Tx, developer_id: int) -> None:
    """Forget the app and the backup codes."""
    await tx.execute("DELETE FROM people_second_factor WHERE developer_id = $1", developer_id)
    await tx.execute("DELETE FROM people_backup_code WHERE developer_id = $1", developer_id)
