"""Issue licence certificates: the genesis to itself, to frames by the genesis, to operators by a frame."""

from datetime import datetime, timedelta
from typing import Any
from uuid import uuid4

from hansa.foundation.events import FederationLicenseIssued
from hansa.foundation.plumbing.keys.seal import Seal
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage import clock
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.storage.log_outbox import record_leaf
from hansa.foundation.plumbing.web.admin_acts import record_act
from hansa.foundation.plumbing.web.caller import Developer
from hansa.foundation.values.jwk import jwk_of
from hansa.rooms import journal
from hansa.rooms.federation.charter import registry_id_of
from hansa.rooms.federation.notices import note_licences_changed
from hansa_verify import BadLicence, licence_hash, read_certificate
from hansa_verify.licence import GENESIS_PLAN

from . import store
from .errors import CertificateRefused, CertificateState, GenesisHeld, GenesisMissing
from .held import ENDED, held_licence
from .keys import present_key
from .records import CertificateRequest, IssuedCertificate, LicensingKey, Subject, Type, epoch
from .rules import (
    ISSUED_MAX_CHARACTERS,
    TERMS_VERSION,
    require_frame_request,
    require_mainframe,
    require_operator_request,
    sign_compact,
    term_days,
)


async def issue_genesis(
    tx: Tx, administrator: Developer | None, settings: Settings, seal: Seal
) -> IssuedCertificate:
    """Issue the genesis certificate to this registry, once.

    Raises: NotAMainframe, GenesisHeld, LicensingKeySealed, CertificateRefused.
    """
    require_mainframe(settings)
    now = await store.lock(tx)
    if await store.genesis(tx) is not None or await store.installed(tx) is not None:
        raise GenesisHeld
    key = await present_key(tx, seal)
    subject = Subject(
        settings.trust_domain,
        settings.registry_name,
        settings.public_base_url,
        registry_id_of(settings.trust_domain, settings.registry_name),
    )
    request = CertificateRequest(subject, GENESIS_PLAN, key.public_key, None, states_term=True)
    members = _members("genesis", request, now, None)
    issuer = _issuer(settings, key, None)
    return await _issued(
        tx, administrator, key, members | {"iss": issuer, "network": settings.trust_domain}, now
    )


async def issue_certificate(
    tx: Tx, administrator: Developer | None, settings: Settings, seal: Seal, request: CertificateRequest
) -> IssuedCertificate:
    """Issue a frame certificate as the holder of the genesis certificate, else one for an operator of this frame.

    Older active or suspended certificates of the same subject are superseded in the same transaction.

    Raises: NotAMainframe, GenesisMissing, LicensingKeySealed, CertificateRefused, CertificateState where the network
    certificate of this registry has ended.
    """
    require_mainframe(settings)
    now = await store.lock(tx)
    key = await present_key(tx, seal)
    genesis = await store.genesis(tx)
    if genesis is not None:
        require_frame_request(request, settings.trust_domain)
        kind: Type = "frame"
        licence: str | None = genesis.hash
        network: str | None = settings.trust_domain
    elif request.subject.trust_domain != settings.trust_domain:
        raise GenesisMissing
    else:
        require_operator_request(request)
        kind = "operator"
        licence, network = await _own_network(tx, settings, key)
    days = term_days(request, settings)
    members = _members(kind, request, now, days)
    subject = request.subject
    await store.supersede(tx, kind, subject.trust_domain, subject.name)
    issuer = _issuer(settings, key, licence)
    return await _issued(tx, administrator, key, members | {"iss": issuer, "network": network}, now)


async def reissue_operators(tx: Tx, administrator: Developer | None, settings: Settings, seal: Seal) -> None:
    """Issue every active certificate of an operator anew, with its plan and its end, signed by the present key.

    The row of the list is locked. Raises: LicensingKeySealed, CertificateRefused, CertificateState.
    """
    now = (await clock.now(tx)).replace(microsecond=0)
    key = await present_key(tx, seal)
    licence, network = await _own_network(tx, settings, key)
    issuer = {"iss": _issuer(settings, key, licence), "network": network}
    for former in await store.live_operators(tx):
        declared = read_certificate(former.certificate).payload
        await store.supersede(tx, "operator", former.sub_trust_domain, former.sub_name)
        members = {**declared, "lid": str(uuid4()), "iat": epoch(now), "terms": TERMS_VERSION, **issuer}
        await _issued(tx, administrator, key, members, now)


async def _own_network(tx: Tx, settings: Settings, key: LicensingKey) -> tuple[str | None, str | None]:
    """The hash and network of the installed certificate, where it is for the present key. Raises: CertificateState."""
    held = await held_licence(tx, settings)
    if held is None:
        return None, None
    certificate = read_certificate(held.network.certificate)
    if certificate.public_key != key.public_key:
        return None, None
    if held.state in ENDED:
        raise CertificateState(
            f"The network certificate of this registry is {held.state}; nothing is issued under it.",
            context={"state": held.state},
        )
    return held.network.hash, certificate.payload["network"]


def _members(kind: Type, request: CertificateRequest, now: datetime, days: int | None) -> dict[str, Any]:
    members: dict[str, Any] = {
        "kind": "fed.licence.v1",
        "lid": str(uuid4()),
        "type": kind,
        "sub": request.subject.members,
        "plan": request.plan,
        "terms": TERMS_VERSION,
        "iat": epoch(now),
        "exp": None if days is None else epoch(now + timedelta(days=days)),
    }
    if request.public_key is not None:
        members["key"] = jwk_of(request.public_key)
    return members


def _issuer(settings: Settings, key: LicensingKey, licence: str | None) -> dict[str, Any]:
    return {
        "trust_domain": settings.trust_domain,
        "name": settings.registry_name,
        "kid": key.kid,
        "licence": licence,
    }


async def _issued(
    tx: Tx, administrator: Developer | None, key: LicensingKey, payload: dict[str, Any], now: datetime
) -> IssuedCertificate:
    text = sign_compact(key, "licence+jws", payload)
    if len(text) >= ISSUED_MAX_CHARACTERS:
        raise CertificateRefused(
            f"The certificate would have {len(text)} characters; it has fewer than {ISSUED_MAX_CHARACTERS}.",
            field="sub",
        )
    try:
        read_certificate(text)
    except BadLicence as error:
        raise CertificateRefused(f"The certificate would be malformed: {error}.") from None
    exp = payload["exp"]
    issued = await store.add(
        tx,
        IssuedCertificate(
            lid=payload["lid"],
            hash=licence_hash(text),
            certificate=text,
            type=payload["type"],
            sub_trust_domain=payload["sub"]["trust_domain"],
            sub_name=payload["sub"]["name"],
            plan=payload["plan"],
            issued_at=now,
            expires_at=None if exp is None else datetime.fromtimestamp(exp, now.tzinfo),
            state="active",
            updated_at=now,
        ),
    )
    await record_act(tx, administrator, act="licence_certificate.issue", subject=issued.lid)
    await journal.append(tx, FederationLicenseIssued(issued.lid, issued.sub_trust_domain, kind="certificate"))
    await record_leaf(tx, "licence", issued.hash, bytes.fromhex(issued.hash))
    await note_licences_changed(tx)
    return issued
