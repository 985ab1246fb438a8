"""Read the chain of attestations and the keys that verify it."""

from collections.abc import Sequence
from datetime import datetime

import msgspec

from hansa.foundation.plumbing.storage.database import Tx
from hansa.rooms.auditor.transparency import Inclusion, prove_objects

from . import store
from .errors import AttestationUnknown, AuditorKeyMissing
from .records import Attestation, AuditorKey
from .rules import UNWATCHED_AFTER

ANY_ORIGIN = {"Access-Control-Allow-Origin": "*"}


class Watch(msgspec.Struct, frozen=True):
    """The newest record of the chain; nobody watches the supply when it is older than 10 minutes."""

    head: Attestation | None
    now: datetime

    @property
    def is_watched(self) -> bool:
        """Return whether the newest record is recent."""
        return self.head is not None and self.now - self.head.ts <= UNWATCHED_AFTER


async def read_watch(tx: Tx, frame: str) -> Watch:
    """Return the newest record of the chain with the time of the database: whether the auditor is at work."""
    return Watch(*await store.head_now(tx, frame))


async def read_head(tx: Tx, frame: str) -> Attestation:
    """The newest record. Raises: AttestationUnknown."""
    return _known(await store.head(tx, frame))


async def read_newest_audit(tx: Tx, frame: str) -> Attestation:
    """The newest record of an audit cycle. Raises: AttestationUnknown."""
    return _known(await store.newest_audit(tx, frame))


async def read_attestation(tx: Tx, attestation_id: int) -> Attestation:
    """One record. Raises: AttestationUnknown."""
    return _known(await store.find(tx, attestation_id))


async def attestation_of_liabilities(tx: Tx) -> Attestation | None:
    """The record of the audit cycle whose tree of liabilities is stored; None until it is written."""
    return await store.find_of_liabilities(tx)


async def list_attestations(tx: Tx, frame: str, before_id: int | None, limit: int) -> list[Attestation]:
    """Records, the newest first."""
    return await store.list_records(tx, frame, before_id, limit)


async def prove_records(tx: Tx, records: Sequence[Attestation]) -> dict[str, Inclusion]:
    """The proofs of the records that are leaves of the log already, by their id as text."""
    return await prove_objects(tx, "attestation", [str(record.id) for record in records])


async def list_keys(tx: Tx) -> list[AuditorKey]:
    """Every key of the auditor, the newest first."""
    return await store.all_keys(tx)


async def published_keys(tx: Tx) -> list[AuditorKey]:
    """Return the keys of `list_keys`. Raises: AuditorKeyMissing where there is none."""
    if keys := await list_keys(tx):
        return keys
    raise AuditorKeyMissing(members={"keys": []}, headers=ANY_ORIGIN)


async def present_kids(tx: Tx) -> list[str]:
    """The ids of the keys that are not retired."""
    return [key.kid for key in await list_keys(tx) if key.retired_at is None]


def _known(record: Attestation | None) -> Attestation:
    if record is None:
        raise AttestationUnknown(headers=ANY_ORIGIN)
    return record
