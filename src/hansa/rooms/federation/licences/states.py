"""Suspend, reinstate and revoke licence certificates. An act concerns the subject, not one certificate alone."""

from uuid import uuid4

from hansa.foundation.events import (
    Event,
    FederationLicenseReinstated,
    FederationLicenseRevoked,
    FederationLicenseSuspended,
)
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.admin_acts import record_act
from hansa.foundation.plumbing.web.caller import Developer
from hansa.rooms import journal
from hansa.rooms.federation.notices import note_licences_changed

from . import store
from .errors import CertificateState, CertificateUnknown
from .records import CertificateAct, IssuedCertificate
from .rules import require_mainframe

_EVENTS = {
    "suspend": FederationLicenseSuspended,
    "reinstate": FederationLicenseReinstated,
    "revoke": FederationLicenseRevoked,
}


async def change_certificate(
    tx: Tx, administrator: Developer | None, settings: Settings, change: CertificateAct
) -> tuple[IssuedCertificate, list[str]]:
    """The certificate after the act, and the ids of all that it changed.

    Suspend changes every active certificate of the subject, revoke every one that is not revoked, reinstate every one that
    the same suspension changed and is not past its end.

    Raises: NotAMainframe, CertificateUnknown, CertificateState.
    """
    require_mainframe(settings)
    await store.lock(tx)
    one = await store.find(tx, change.lid)
    if one is None or one.lid != change.lid:
        raise CertificateUnknown
    if one.type == "genesis":
        raise CertificateState("The genesis certificate is never changed.", context={"state": one.state})
    changed = await _changed(tx, one, change.act)
    if not changed:
        raise CertificateState(context={"state": one.state})
    await record_act(
        tx, administrator, act=f"licence_certificate.{change.act}", subject=change.lid, reason=change.reason
    )
    for each in changed:
        await journal.append(tx, _event_of(change.act, each, one.sub_trust_domain))
    await note_licences_changed(tx)
    after = await store.find(tx, change.lid)
    assert after is not None
    return after, changed


async def _changed(tx: Tx, one: IssuedCertificate, act: str) -> list[str]:
    if act == "suspend":
        return await store.suspend(tx, one, uuid4())
    return await (store.revoke if act == "revoke" else store.reinstate)(tx, one)


def _event_of(act: str, lid: str, trust_domain: str) -> Event:
    return _EVENTS[act](lid, trust_domain, kind="certificate")
