"""Durability of the database: settings by which it loses operations that the registry acknowledged."""

from collections.abc import Iterator

import msgspec

from hansa.foundation.plumbing.storage.database import Tx

_SETTINGS = ("fsync", "full_page_writes", "synchronous_commit", "synchronous_standby_names")

# A role without the rights of monitoring sees the processes alone, not what they are for. A backup under way is none of these.
_DURABILITY = f"""
SELECT {", ".join(f"current_setting('{name}') AS {name}" for name in _SETTINGS)},
  (SELECT count(*) FROM pg_stat_replication
   WHERE coalesce(state, 'streaming') <> 'backup' AND coalesce(application_name, '') <> 'pg_receivewal') AS standbys
"""  # noqa: S608


class Durability(msgspec.Struct, frozen=True):
    """Settings of the database in the sessions of the registry, and how many standbys follow it."""

    fsync: str
    full_page_writes: str
    synchronous_commit: str
    synchronous_standby_names: str
    standbys: int


async def read_durability(tx: Tx) -> Durability:
    """The settings in effect, and the standbys."""
    row = await tx.fetchrow(_DURABILITY)
    assert row is not None
    return Durability(**dict(row.items()))


def faults_of(found: Durability) -> Iterator[tuple[str, str]]:
    """Sentence and remedy for each setting by which an acknowledged operation can be lost."""
    for name, value in (("fsync", found.fsync), ("full_page_writes", found.full_page_writes)):
        if value != "on":
            yield f"{name} is {value}: a crash can damage the database", f"set {name} = on"
    if found.synchronous_commit == "off":
        yield (
            "synchronous_commit is off: a crash loses acknowledged operations",
            "set synchronous_commit = on, for the role and the database as well",
        )
    elif found.synchronous_standby_names and found.synchronous_commit in {"local", "remote_write"}:
        yield (
            f"synchronous_commit is {found.synchronous_commit}: a failover can lose acknowledged operations",
            "set synchronous_commit = on, for the role and the database as well",
        )
    if found.standbys and not found.synchronous_standby_names:
        yield (
            f"{found.standbys} standbys follow without synchronous replication: a failover loses acknowledged operations",
            "set synchronous_standby_names (Patroni: synchronous_mode and synchronous_mode_strict); see the guide High availability",
        )
