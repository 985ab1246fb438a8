"""Licence that this operator registry holds of its frame: the answer of `GET /federation/licence/mine`, judged and stored.

- A delivered root is never trusted by being delivered: FEDERATION_ROOT_HASH alone says which genesis certificate counts.
- The frame's network certificate is kept as this registry's own only where it is for this trust domain.
- Of a certificate that is in order the state is the one that the frame reports.
"""

from collections.abc import Sequence
from datetime import UTC, datetime

import msgspec

from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Tx
from hansa_verify import BadLicence, Certificate, licence_hash, read_certificate, verify_licence

from . import operator_held_store, store
from .held import state_of
from .records import HeldOperatorLicence, NetworkCertificate

CHAIN_MAX = 3
REPORTED_ENDED = frozenset({"suspended", "revoked", "superseded", "expired"})


class AnsweredCertificate(msgspec.Struct):
    """The certificate of the operator, and its state at the frame."""

    certificate: str
    state: str


class AnsweredNetwork(msgspec.Struct):
    """The network certificate of the frame."""

    certificate: str
    chain: list[str]


class AnsweredLicence(msgspec.Struct):
    """The members of the frame's answer that count here."""

    operator: AnsweredCertificate | None
    network: AnsweredNetwork | None


async def held_operator_licence(tx: Tx) -> HeldOperatorLicence | None:
    """The licence that was kept last; None: the frame has issued none."""
    return await operator_held_store.find(tx)


async def keep_operator_licence(tx: Tx, settings: Settings, answered: AnsweredLicence) -> bool:
    """Judge the frame's answer now and store it; return whether anything of it is new."""
    now = await store.lock(tx)
    network = _network_in(answered, settings)
    is_new = network is not None and network != await store.installed(tx)
    if network is not None and is_new:
        await store.install(tx, network)
    known = await operator_held_store.find(tx)
    if answered.operator is None:
        await operator_held_store.remove(tx)
        return is_new or known is not None
    chain = [] if network is None else [network.certificate, *network.chain]
    judged = judge_operator_licence(answered.operator, chain, settings, now)
    # A text that is no certificate says nothing: what was kept stays.
    if judged is None or judged == known:
        return is_new
    await operator_held_store.keep(tx, judged)
    return True


def judge_operator_licence(
    answered: AnsweredCertificate, chain: Sequence[str], settings: Settings, now: datetime
) -> HeldOperatorLicence | None:
    """The certificate by its chain, its subject and the state that the frame reports; None for a text that is none."""
    try:
        certificate = read_certificate(answered.certificate)
    except BadLicence:
        return None
    state, reason = _evaluated(certificate, answered.state, chain, settings, now)
    payload = certificate.payload
    end = payload["exp"]
    return HeldOperatorLicence(
        certificate=certificate.text,
        hash=certificate.hash,
        state=state,
        reason=reason,
        plan=str(payload["plan"]),
        frame=certificate.issuer[0],
        expires_at=None if end is None else datetime.fromtimestamp(end, UTC),
    )


def _evaluated(
    certificate: Certificate, reported: str, chain: Sequence[str], settings: Settings, now: datetime
) -> tuple[str, str]:
    if certificate.subject != ("operator", settings.trust_domain, settings.registry_name):
        return "malformed", "other_subject: the certificate is not for this operator registry"
    verdict = verify_licence(certificate.text, chain, root_hash=settings.federation_root_hash, at=now)
    state = state_of(verdict)
    if state == "malformed":
        return state, verdict.reason
    if reported in REPORTED_ENDED:
        return reported, f"{reported}: the frame reports this state"
    return (state, "") if state == "active" else (state, verdict.reason)


def _network_in(answered: AnsweredLicence, settings: Settings) -> NetworkCertificate | None:
    """The frame's certificate, where it is a frame certificate for this trust domain."""
    if answered.network is None or len(answered.network.chain) > CHAIN_MAX:
        return None
    text, chain = answered.network.certificate.strip(), tuple(one.strip() for one in answered.network.chain)
    try:
        subjects = [read_certificate(one).subject for one in (text, *chain)]
    except BadLicence:
        return None
    if subjects[0][:2] not in {("frame", settings.trust_domain), ("genesis", settings.trust_domain)}:
        return None
    return NetworkCertificate(text, licence_hash(text), chain)
