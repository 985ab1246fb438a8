"""Admit a registry, suspend and reinstate its licence, and end it. Each act is told in the journal and in the audit log."""

from uuid import UUID

from hansa.foundation.events import (
    FederationLicenseIssued,
    FederationLicenseReinstated,
    FederationLicenseRevoked,
    FederationLicenseSuspended,
)
from hansa.foundation.plumbing.admin_acts import record_admin_act
from hansa.foundation.plumbing.caller import Developer
from hansa.foundation.plumbing.database import Tx
from hansa.foundation.words.secrets import fingerprint, new_hex
from hansa.rooms import journal

from . import store
from .check import KEY_PREFIX
from .errors import LicenceAlreadyHeld, LicenceState, LicenceUnknown
from .records import IssuedLicence, Licence


async def issue_licence(
    tx: Tx, administrator: Developer, *, trust_domain: str, note: str | None, ttl_days: int | None
) -> IssuedLicence:
    """Admit a registry; without `ttl_days` its key does not end. Raises: LicenceAlreadyHeld."""
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
    return IssuedLicence(key, licence)


async def suspend_licence(tx: Tx, administrator: Developer, licence_id: UUID, reason: str) -> Licence:
    """Let an active licence open nothing for a time. Raises: LicenceUnknown, LicenceState."""
    licence = await _change(tx, licence_id, "suspended", when_one_of=("active",))
    await record_admin_act(
        tx, administrator, act="federation_licence.suspend", subject=str(licence_id), reason=reason
    )
    await journal.append(tx, FederationLicenseSuspended(str(licence_id), licence.trust_domain))
    return licence


async def reinstate_licence(tx: Tx, administrator: Developer, licence_id: UUID, reason: str) -> Licence:
    """Let a suspended licence open again what it did. Raises: LicenceUnknown, LicenceState."""
    licence = await _change(tx, licence_id, "active", when_one_of=("suspended",))
    await record_admin_act(
        tx, administrator, act="federation_licence.reinstate", subject=str(licence_id), reason=reason
    )
    await journal.append(tx, FederationLicenseReinstated(str(licence_id), licence.trust_domain))
    return licence


async def revoke_licence(tx: Tx, administrator: Developer, licence_id: UUID, reason: str) -> Licence:
    """End a licence for good. Raises: LicenceUnknown, LicenceState."""
    licence = await _change(tx, licence_id, "revoked", when_one_of=("active", "suspended"))
    await record_admin_act(
        tx, administrator, act="federation_licence.revoke", subject=str(licence_id), reason=reason
    )
    await journal.append(tx, FederationLicenseRevoked(str(licence_id), licence.trust_domain))
    return licence


async def list_licences(tx: Tx, *, limit: int, offset: int) -> tuple[list[Licence], int]:
    """A page of admissions, newest first, and how many there are in all."""
    return await store.page(tx, limit=limit, offset=offset)


async def _change(tx: Tx, licence_id: UUID, status: str, *, when_one_of: tuple[str, ...]) -> Licence:
    changed = await store.change(tx, licence_id, status, when_one_of=when_one_of)
    if changed is not None:
        return changed
    found = await store.find(tx, licence_id)
    if found is None:
        raise LicenceUnknown
    raise LicenceState(context={"status": found.status})
