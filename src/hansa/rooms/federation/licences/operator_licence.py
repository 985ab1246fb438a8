"""Answer of a frame to an operator that asks for its licence: GET /api/v1/federation/licence/mine."""

from datetime import datetime

import msgspec

from hansa.foundation.plumbing.keys.seal import Seal
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.errors import Conflict
from hansa_verify import BadLicence, read_certificate

from . import store, verdicts_store
from .held import ENDED, held_licence
from .issuing import issue_certificate
from .operator_caller import Operator
from .records import CertificateRequest, IssuedCertificate, LocalLicence, Subject
from .rules import require_mainframe

DEFAULT_PLAN = "operator-free"


class LicensingOff(Conflict):
    """The frame issues no certificates to operators."""

    code = "LICENSING_OFF"
    sentence = "This frame issues no licences to operators (LICENSING_MODE is off)."
    remedy = "Ask the administrators of the frame."


class NetworkState(msgspec.Struct, frozen=True):
    """The network certificate of the frame, and how it was judged last; `reason` and `checked_at` are None before."""

    own: LocalLicence
    reason: str | None
    checked_at: datetime | None


class OperatorLicence(msgspec.Struct, frozen=True):
    """Licence of an operator. `issued_now`: its certificate was issued by this request."""

    operator: IssuedCertificate | None
    issued_now: bool
    network: NetworkState | None
    root: str | None


async def operator_licence(tx: Tx, settings: Settings, seal: Seal, caller: Operator) -> OperatorLicence:
    """The newest certificate of the operator; one is issued where it has no live one and LICENSING_MODE is automatic.

    A suspended or revoked operator gets none: the answer is its state.

    Raises: NotAMainframe, LicensingOff, LicensingKeySealed.
    """
    require_mainframe(settings)
    if settings.licensing_mode == "off":
        raise LicensingOff
    # Nobody else issues meanwhile: two requests at once get one certificate.
    await store.lock(tx)
    held = await store.newest_of_operator(tx, settings.trust_domain, caller.name)
    is_issued = held is None or held.state == "expired"
    network = await _network(tx, settings)
    # The genesis issues frame certificates alone, and a frame nothing under a certificate that has ended.
    may_issue = await store.genesis(tx) is None and (network is None or network.own.state not in ENDED)
    if is_issued and settings.licensing_mode == "automatic" and may_issue:
        held = await issue_certificate(tx, None, settings, seal, _request(settings, caller))
    else:
        is_issued = False
    return OperatorLicence(held, is_issued, network, None if network is None else _root(network.own))


def plan_of(settings: Settings) -> str:
    """The plan of certificates that are issued automatically."""
    return settings.operator_plan or DEFAULT_PLAN


def _request(settings: Settings, caller: Operator) -> CertificateRequest:
    subject = Subject(settings.trust_domain, caller.name, spiffe=caller.spiffe_id)
    return CertificateRequest(subject, plan_of(settings), None, None, states_term=False)


async def _network(tx: Tx, settings: Settings) -> NetworkState | None:
    own = await held_licence(tx, settings)
    if own is None:
        return None
    judged = await verdicts_store.find(tx, settings.trust_domain)
    if judged is None or judged["hash"] != own.network.hash:
        return NetworkState(own, None, None)
    return NetworkState(own, judged["reason"], judged["checked_at"])


def _root(own: LocalLicence) -> str | None:
    """The genesis certificate of the chain."""
    for text in (own.network.certificate, *own.network.chain):
        try:
            if read_certificate(text).kind == "genesis":
                return text
        except BadLicence:
            continue
    return None
