"""Replace the sealing key, and seal every secret of the database anew under the next one, while no process of the registry runs.

The next key is written beside the present one, the database is changed in one transaction, and the next key takes the place of
the present one after that: a call that was interrupted is completed by the next one.
"""

from pathlib import Path

import msgspec

from hansa.doors.assembly import ASSEMBLY
from hansa.doors.startup import adoptable_database, require_data_directory
from hansa.foundation.plumbing.keys.key_files import BadKey, Keyring, secret_in, write_once
from hansa.foundation.plumbing.keys.registry_identity import (
    fingerprint_of_secret,
    key_recorded,
    replace_key,
)
from hansa.foundation.plumbing.keys.seal import KEY_NAME, Resealed, Seal, seal_anew
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.connection import has_other_sessions
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.admin_acts import record_operator_act
from hansa.foundation.values.errors import Conflict
from hansa.foundation.values.secrets import new_hex


class _Files(msgspec.Struct, frozen=True):
    """The present key, and where the next one waits."""

    current: Path
    next: Path

    @classmethod
    def of(cls, settings: Settings) -> "_Files":
        """Raises: BadKey, where the key is not a file of the data directory."""
        current = settings.data_dir / "keys" / KEY_NAME
        found = Keyring(settings.data_dir).find(KEY_NAME, KEY_NAME)
        if found is None or found[0] != str(current):
            place = "missing" if found is None else found[0]
            raise BadKey(f"the sealing key is rotated in {current}, and it is {place}")
        return cls(current, current.with_name(f"{KEY_NAME}-next"))

    def promote(self) -> None:
        """Let the next key take the place of the present one."""
        try:
            self.next.replace(self.current)
        except OSError as error:
            raise BadKey(f"{self.current} cannot be written: {error.strerror or error}") from error


async def rotate_sealing_key(settings: Settings, reason: str | None) -> Resealed:
    """Seal everything under a new key; secrets that did not open stay as they are, and are counted.

    Raises: Conflict while a process runs, Refused, BadKey, and the errors of opening the database.
    """
    require_data_directory(settings)
    files = _Files.of(settings)
    async with adoptable_database(settings) as database:
        recorded, _ = await database.query(lambda tx: key_recorded(tx, KEY_NAME))
        if files.next.exists() and _fingerprint(files.next) == recorded:
            files.promote()
            return Resealed()
        if _fingerprint(files.current) != recorded:
            raise Conflict(
                "The sealing key in DIR/keys is not the one of this registry; copy it from another machine."
            )
        if not files.next.exists():
            write_once(files.next, new_hex("").encode())
        found = await database.transaction(lambda tx: _seal_anew(tx, files, reason))
        files.promote()
        return found


async def _seal_anew(tx: Tx, files: _Files, reason: str | None) -> Resealed:
    if await has_other_sessions(tx):
        raise Conflict(
            "The registry runs: stop every process of it, on every machine, before its sealing key is rotated."
        )
    former, new = (Seal(secret_in(str(path), path.read_bytes())) for path in (files.current, files.next))
    found = await seal_anew(tx, ASSEMBLY.sealed, former, new)
    fingerprint = _fingerprint(files.next)
    await replace_key(tx, KEY_NAME, fingerprint)
    await record_operator_act(tx, act="sealing_key.rotate", subject=fingerprint.hex(), reason=reason)
    return found


def _fingerprint(path: Path) -> bytes:
    return fingerprint_of_secret(str(path), path.read_bytes())
