"""Rotate the embedded certificate authority, one step with each call; processes that run follow each step within a second.

1. The next root is published beside the present one, which goes on signing. Peers read it with their next refresh.
2. No sooner than two refreshes later the next root signs, and the former one stays published.
3. When no certificate of the former root is in force any more, it is no longer published: connections that show one end.

A stolen root is replaced in one step, and peers have to approve the new one by its fingerprint.

The database records the key that signs. It is recorded first and the files are put in their place after that: a call that was
interrupted is completed by the next one.
"""

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Literal

import msgspec

from hansa.doors.startup import adoptable_database, require_data_directory
from hansa.foundation.plumbing.keys.authority import KEY_NAME, AuthorityFile, new_authority
from hansa.foundation.plumbing.keys.key_files import BadKey, Keyring
from hansa.foundation.plumbing.keys.registry_identity import (
    fingerprint_of_authority,
    key_recorded,
    replace_key,
)
from hansa.foundation.plumbing.keys.trust_bundle import REFRESH_HINT_SECONDS, bundle_of
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Database, Tx
from hansa.foundation.plumbing.web.admin_acts import record_operator_act
from hansa.foundation.values.errors import Conflict
from hansa.rooms import federation

PUBLISHED_BEFORE = timedelta(seconds=2 * REFRESH_HINT_SECONDS)
LONGEST_IDENTITY = timedelta(days=1)
"""The lifetime of the certificates of this registry and its agents; those of services may last longer and are looked up."""

Step = Literal["published", "signing", "finished", "replaced"]


class RotationStep(msgspec.Struct, frozen=True):
    """Step that the call took, and the roots that are published then."""

    step: Step
    thumbprint: str


class _Files:
    """The authority that signs, and the next one where there is one."""

    def __init__(self, settings: Settings) -> None:
        """Raises: BadKey, where the key is not a file of the data directory."""
        self._domain = settings.trust_domain
        directory = settings.data_dir / "keys"
        self._current, self._next = directory / f"{KEY_NAME}.pem", directory / f"{KEY_NAME}-next.pem"
        found = Keyring(settings.data_dir).find(KEY_NAME, self._current.name)
        if found is None or found[0] != str(self._current):
            place = "missing" if found is None else found[0]
            raise BadKey(f"the authority is rotated in {self._current}, and its key is {place}")
        self.current = AuthorityFile.read(found[0], found[1], self._domain)
        self.next = self._read_next()

    @property
    def is_next_published(self) -> bool:
        return self.next is not None and self.next.certificate in self.current.others

    def put_next(self, authority: AuthorityFile) -> None:
        _replace(self._next, authority.pem)
        self.next = authority

    def put_current(self, authority: AuthorityFile) -> None:
        _replace(self._current, authority.pem)
        self.current = authority

    def promote(self) -> None:
        """Let the next authority sign; the former root stays published if the next one was published beside it."""
        assert self.next is not None
        others = (self.current.certificate,) if self.is_next_published else ()
        self.put_current(AuthorityFile(self.next.key, self.next.certificate, others))
        self.drop_next()

    def drop_next(self) -> None:
        self._next.unlink()
        self.next = None

    def _read_next(self) -> AuthorityFile | None:
        try:
            return AuthorityFile.read(str(self._next), self._next.read_bytes(), self._domain)
        except FileNotFoundError:
            return None


async def rotate_authority(settings: Settings, reason: str | None, *, stolen: bool) -> RotationStep:
    """Take the next step of the rotation. Raises: Refused, BadKey, and the errors of opening the database."""
    require_data_directory(settings)
    if settings.uses_workload_api:
        raise Conflict("SPIRE issues the certificates of this registry and rotates its own authority.")
    files = _Files(settings)
    async with adoptable_database(settings) as database:
        step = await _completed(database, files)
        if stolen and step != "replaced":
            step = await _replaced(database, files, settings, reason)
        elif step is None:
            step = await _taken(database, files, settings, reason)
    return RotationStep(step, _bundle_thumbprint(files, settings))


async def _completed(database: Database, files: _Files) -> Step | None:
    """Complete a step that was interrupted after it was recorded; None where there is none."""
    recorded, _ = await database.query(lambda tx: key_recorded(tx, KEY_NAME))
    if files.next is not None and _fingerprint(files.next) == recorded:
        if _fingerprint(files.current) == recorded:
            files.drop_next()
        else:
            files.promote()
        return "signing" if files.current.others else "replaced"
    if _fingerprint(files.current) != recorded:
        raise Conflict(
            "The authority in DIR/keys is not the one of this registry; copy it from another machine."
        )
    return None


async def _taken(database: Database, files: _Files, settings: Settings, reason: str | None) -> Step:
    if files.next is None and files.current.others:
        await database.read(lambda tx: _require_unused(tx, settings))
        files.put_current(AuthorityFile(files.current.key, files.current.certificate))
        return "finished"
    if files.next is not None and files.is_next_published:
        await database.query(lambda tx: _require_published(tx, files, settings))
        await _record_next(database, files, reason)
        return "signing"
    if files.next is None:
        files.put_next(new_authority(settings.trust_domain))
    assert files.next is not None
    files.put_current(AuthorityFile(files.current.key, files.current.certificate, (files.next.certificate,)))
    return "published"


async def _replaced(database: Database, files: _Files, settings: Settings, reason: str | None) -> Step:
    files.put_next(new_authority(settings.trust_domain))
    await _record_next(database, files, reason)
    return "replaced"


async def _record_next(database: Database, files: _Files, reason: str | None) -> None:
    assert files.next is not None
    fingerprint = _fingerprint(files.next)

    async def record(tx: Tx) -> None:
        await replace_key(tx, KEY_NAME, fingerprint)
        subject = fingerprint.hex()
        await record_operator_act(tx, act="identity_authority.rotate", subject=subject, reason=reason)

    await database.transaction(record)
    files.promote()


async def _require_published(tx: Tx, files: _Files, settings: Settings) -> None:
    """Raises: Conflict, until every peer had the time to read the next root."""
    bundle = bundle_of(settings.trust_domain, files.current.bundle_pem, 0)
    age = await federation.published_for(tx, bundle)
    if age is None:
        raise Conflict(
            "The next root is not published yet: start the registry, or read its /.well-known/spiffe-bundle.json."
        )
    if age < PUBLISHED_BEFORE:
        left = int((PUBLISHED_BEFORE - age).total_seconds()) + 1
        raise Conflict(f"Peers may not have read the next root yet: retry after {left} seconds.")


async def _require_unused(tx: Tx, settings: Settings) -> None:
    """Raises: Conflict, while a certificate of the former root may be in force."""
    _, since = await key_recorded(tx, KEY_NAME)
    has_operators = any(peer.is_of_frame(settings) for peer in await federation.peers(tx))
    unused_at = since + (federation.OPERATOR_LIFETIME if has_operators else LONGEST_IDENTITY)
    now = datetime.now(UTC)
    if now < unused_at:
        raise Conflict(
            f"Certificates of the former root are in force until {unused_at.isoformat(timespec='seconds')}."
        )
    former = [
        one.name
        for one in await federation.list_certificates(tx)
        if one.status == "in force" and one.issued_at < since
    ]
    if former:
        named = ", ".join(sorted(set(former)))
        raise Conflict(f"Services still have certificates of the former root; enrol them again: {named}.")


def _bundle_thumbprint(files: _Files, settings: Settings) -> str:
    return bundle_of(settings.trust_domain, files.current.bundle_pem, 0).thumbprint


def _fingerprint(authority: AuthorityFile) -> bytes:
    return fingerprint_of_authority(KEY_NAME, authority.pem)


def _replace(path: Path, content: bytes) -> None:
    """Put a file of mode 0600 in the place of another one, if there is one; no reader sees half of it. Raises: BadKey."""
    draft = path.with_suffix(f".{os.getpid()}")
    try:
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    except OSError as error:
        raise BadKey(f"{path} cannot be written: {error.strerror or error}") from error
