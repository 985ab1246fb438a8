"""Plans, terms and payloads of licence certificates (Specification 2, "Federation licence certificate")."""

import json
from typing import Any

from hansa.foundation.plumbing.settings import Settings, is_operator_name
from hansa_verify import encoded
from hansa_verify.licence import FRAME_PLANS as PLANS_OF_FRAMES
from hansa_verify.licence import kind_of_plan

from .errors import CertificateRefused, NotAMainframe
from .records import CertificateRequest, LicensingKey

TERMS_VERSION = "1.0"
ISSUED_MAX_CHARACTERS = 2000
TERM_DAYS = {"enterprise": 365, "government": 365}
FRAME_PLANS: dict[str, int | None] = {plan: TERM_DAYS.get(plan) for plan in PLANS_OF_FRAMES}
"""The default term of each plan in days; None is perpetual, and a plan with days cannot be."""


def require_mainframe(settings: Settings) -> None:
    """Raises: NotAMainframe."""
    if not is_mainframe(settings):
        raise NotAMainframe


def is_mainframe(settings: Settings) -> bool:
    """Return whether this registry is an allow-listed sovereign mainframe."""
    return settings.is_central_registry and settings.trust_domain in settings.sovereign_mainframes


def require_frame_request(request: CertificateRequest, own_domain: str) -> None:
    """Refuse a request that the genesis cannot grant. Raises: CertificateRefused."""
    if request.subject.trust_domain == own_domain:
        raise CertificateRefused(
            "sub.trust_domain is this registry's own; the genesis licenses other trust domains.",
            field="sub.trust_domain",
        )
    if request.plan not in FRAME_PLANS:
        raise CertificateRefused(f"plan is one of {', '.join(FRAME_PLANS)}.", field="plan")
    if request.public_key is None:
        raise CertificateRefused(
            "key is required: the licence-signing key of the frame, as an Ed25519 JWK.", field="key"
        )


def require_operator_request(request: CertificateRequest) -> None:
    """Refuse a request that a frame cannot grant. Raises: CertificateRefused."""
    if kind_of_plan(request.plan) != "operator":
        raise CertificateRefused("plan is one of the frame's operator plans.", field="plan")
    if request.public_key is not None:
        raise CertificateRefused("key is absent from an operator certificate.", field="key")
    if not is_operator_name(request.subject.name):
        raise CertificateRefused(
            "sub.name has 1 to 120 letters, digits, dots, underscores or hyphens.", field="sub.name"
        )


def term_days(request: CertificateRequest, settings: Settings) -> int | None:
    """The term: the one stated, or the plan's default; None is perpetual. Raises: CertificateRefused."""
    default = FRAME_PLANS.get(request.plan, settings.operator_term_days)
    if not request.states_term:
        return default
    if request.days is None and FRAME_PLANS.get(request.plan) is not None:
        raise CertificateRefused(f"days is required: plan {request.plan} is not perpetual.", field="days")
    return request.days


def sign_compact(key: LicensingKey, typ: str, payload: dict[str, Any]) -> str:
    """A compact JWS whose header is exactly alg, kid and typ."""
    header = {"alg": "EdDSA", "kid": key.kid, "typ": typ}
    signed = f"{_segment(header)}.{_segment(payload)}"
    return f"{signed}.{encoded(key.private.sign(signed.encode()))}"


def _segment(members: dict[str, Any]) -> str:
    return encoded(json.dumps(members, sort_keys=True, separators=(",", ":")).encode())
