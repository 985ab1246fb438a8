"""Admit a registry, suspend and reinstate its licence, and end it. Each act is recorded in the journal and in the audit log.

The licence key is checked for every request that presents one.
"""

import re
from typing import Literal, TypeAlias
from uuid import UUID

from hansa.foundation.events import (
    Event,
    FederationLicenseIssued,
    FederationLicenseReinstated,
    FederationLicenseRevoked,
    FederationLicenseSuspended,
)
from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.storage.log_outbox import record_object
from hansa.foundation.plumbing.web.admin_acts import record_admin_act
from hansa.foundation.plumbing.web.caller import Developer, LicenceSuspended
from hansa.foundation.values.errors import Refused, Unauthorized
from hansa.foundation.values.secrets import fingerprint, new_hex
from hansa.rooms import journal

from . import store
from .errors import LicenceAlreadyHeld, LicenceForOwnDomain, LicenceState, LicenceUnknown
from .records import IssuedLicence, Licence

Act: TypeAlias = Literal["suspend", "reinstate", "revoke"]
# What a licence becomes, and what it may be before.
_CHANGES: dict[Act, tuple[str, tuple[str, ...]]] = {
    "suspend": ("suspended", ("active",)),
    "reinstate": ("active", ("suspended",)),
    "revoke": ("revoked", ("active", "suspended")),
}

KEY_PREFIX = "hfl_v1_"
_KEY = re.compile(KEY_PREFIX + "[0-9a-f]{64}", re.ASCII)


async def issue_licence(
    tx: Tx,
    administrator: Developer,
    *,
    own_domain: str,
    trust_domain: str,
    note: str | None,
    ttl_days: int | None,
) -> IssuedLicence:
    """Admit another registry; without `ttl_days` its key does not end. Raises: LicenceForOwnDomain, LicenceAlreadyHeld."""
    if trust_domain == own_domain:
        raise LicenceForOwnDomain(field="trust_domain")
    await store.lock_subject(tx, trust_domain)
    if await store.is_held(tx, trust_domain):
        raise LicenceAlreadyHeld
    key = new_hex(KEY_PREFIX)
    licence = await store.add(
        tx,
        fingerprint(key),
        trust_domain=trust_domain,
        note=note,
        issued_by=administrator.id,
        ttl_days=ttl_days,
    )
    await record_admin_act(tx, administrator, act="federation_licence.issue", subject=str(licence.id))
    await journal.append(tx, FederationLicenseIssued(str(licence.id), trust_domain))
    await _record_state(tx, licence)
    return IssuedLicence(key, licence)


async def change_licence(
    tx: Tx, administrator: Developer, licence_id: UUID, act: Act, reason: str
) -> Licence:
    """Suspend an active licence, reinstate a suspended one, or revoke either for good.

    Raises: LicenceUnknown, LicenceState.
    """
    status, when_one_of = _CHANGES[act]
    licence = await store.change(tx, licence_id, status, when_one_of=when_one_of)
    if licence is None:
        raise await _unchangeable(tx, licence_id)
    await record_admin_act(
        tx, administrator, act=f"federation_licence.{act}", subject=str(licence_id), reason=reason
    )
    await journal.append(tx, _event_of(act, licence))
    await _record_state(tx, licence)
    return licence


async def list_licences(tx: Tx, *, limit: int, offset: int) -> tuple[list[Licence], int]:
    """A page of admissions, newest first, and how many there are in all."""
    return await store.page(tx, limit=limit, offset=offset)


async def _record_state(tx: Tx, licence: Licence) -> None:
    licence_id = str(licence.id)
    state = {"licence_id": licence_id, "trust_domain": licence.trust_domain, "status": licence.status}
    await record_object(tx, "licence", licence_id, state)


async def _unchangeable(tx: Tx, licence_id: UUID) -> Refused:
    found = await store.find(tx, licence_id)
    return LicenceUnknown() if found is None else LicenceState(context={"status": found.status})


def _event_of(act: Act, licence: Licence) -> Event:
    facts = (str(licence.id), licence.trust_domain)
    match act:
        case "suspend":
            return FederationLicenseSuspended(*facts)
        case "reinstate":
            return FederationLicenseReinstated(*facts)
        case "revoke":
            return FederationLicenseRevoked(*facts)


async def check_licence(runtime: Runtime, key: str) -> None:
    """The key is that of a registry which is admitted now. Raises: Unauthorized, LicenceSuspended."""
    if not _KEY.fullmatch(key):
        raise Unauthorized("This is not a federation licence key.")
    shown = await runtime.database.query(lambda tx: store.find_presented(tx, fingerprint(key)))
    if shown is not None and shown.status == "suspended":
        raise LicenceSuspended
    if shown is None or shown.status != "active":
        raise Unauthorized("This federation licence key is unknown, revoked or expired.")
    if shown.is_use_due:
        await runtime.database.transaction(lambda tx: store.note_use(tx, shown.id))
