"""The rules of licence certificates (Specification 2, "Federation licence certificate") and of the names of a registry."""

import json

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from msgspec.structs import replace

from hansa.foundation.plumbing.settings import Settings, read_settings
from hansa.rooms.federation.charter.rules import registry_id_of
from hansa.rooms.federation.licences import rules
from hansa.rooms.federation.licences.errors import CertificateRefused, NotAMainframe
from hansa.rooms.federation.licences.records import CertificateRequest, LicensingKey, Subject
from hansa_verify import decoded

DOMAIN, OTHER_DOMAIN = "hansa.example", "frame.example"
OPERATOR_TERM_DAYS = 90


def settings(**changes: object) -> Settings:
    return read_settings().model_copy(
        update={"trust_domain": DOMAIN, "operator_term_days": OPERATOR_TERM_DAYS, **changes}
    )


def request(plan: str = "founding", **changes: object) -> CertificateRequest:
    """A request for a frame of another trust domain, without a stated term."""
    made = CertificateRequest(Subject(OTHER_DOMAIN, "Frame"), plan, b"k" * 32, None, states_term=False)
    return replace(made, **changes)


def operator(**changes: object) -> CertificateRequest:
    return replace(request("starter", public_key=None), **changes)


@pytest.mark.parametrize(
    ("is_central", "mainframes", "is_mainframe"),
    [
        (True, (DOMAIN,), True),
        (True, (OTHER_DOMAIN,), False),
        (True, (), False),
        (False, (DOMAIN,), False),
    ],
)
def test_a_mainframe_is_a_central_registry_on_the_list(
    is_central: bool, mainframes: tuple[str, ...], is_mainframe: bool
):
    present = settings(is_central_registry=is_central, sovereign_mainframes=mainframes)
    assert rules.is_mainframe(present) == is_mainframe
    if is_mainframe:
        rules.require_mainframe(present)
        return
    with pytest.raises(NotAMainframe):
        rules.require_mainframe(present)


def test_the_genesis_licenses_frames_of_other_domains_with_a_plan_and_a_key():
    for plan in rules.FRAME_PLANS:
        rules.require_frame_request(request(plan), DOMAIN)


@pytest.mark.parametrize(
    ("refused", "field"),
    [
        (request(subject=Subject(DOMAIN, "Frame")), "sub.trust_domain"),
        (request("starter"), "plan"),
        (request("genesis"), "plan"),
        (request(public_key=None), "key"),
    ],
)
def test_the_genesis_refuses_a_request_by_its_member(refused: CertificateRequest, field: str):
    with pytest.raises(CertificateRefused) as error:
        rules.require_frame_request(refused, DOMAIN)
    assert error.value.field == field


@pytest.mark.parametrize("name", ["a", "a" * 120, "A.b_c-1"])
def test_a_frame_licenses_an_operator_without_a_key(name: str):
    rules.require_operator_request(operator(subject=Subject(OTHER_DOMAIN, name)))


@pytest.mark.parametrize(
    ("refused", "field"),
    [
        (operator(plan="founding"), "plan"),
        (operator(plan="genesis"), "plan"),
        (operator(public_key=b"k" * 32), "key"),
        (operator(subject=Subject(OTHER_DOMAIN, "")), "sub.name"),
        (operator(subject=Subject(OTHER_DOMAIN, "a" * 121)), "sub.name"),
        (operator(subject=Subject(OTHER_DOMAIN, "a b")), "sub.name"),
    ],
)
def test_a_frame_refuses_a_request_by_its_member(refused: CertificateRequest, field: str):
    with pytest.raises(CertificateRefused) as error:
        rules.require_operator_request(refused)
    assert error.value.field == field


@pytest.mark.parametrize(
    ("plan", "days"),
    [("founding", None), ("enterprise", 365), ("government", 365), ("starter", OPERATOR_TERM_DAYS)],
)
def test_a_term_that_is_not_stated_is_the_default_of_the_plan(plan: str, days: int | None):
    assert rules.term_days(request(plan), settings()) == days


@pytest.mark.parametrize(
    ("plan", "days"), [("enterprise", 30), ("founding", 30), ("founding", None), ("starter", None)]
)
def test_a_stated_term_stands(plan: str, days: int | None):
    assert rules.term_days(request(plan, days=days, states_term=True), settings()) == days


@pytest.mark.parametrize("plan", ["enterprise", "government"])
def test_a_plan_with_days_is_not_perpetual(plan: str):
    with pytest.raises(CertificateRefused, match="days is required") as error:
        rules.term_days(request(plan, states_term=True), settings())
    assert error.value.field == "days"


def test_a_certificate_has_exactly_three_header_members_and_a_signature_of_its_key():
    private = Ed25519PrivateKey.generate()
    key = LicensingKey("key-1", private.public_key().public_bytes_raw(), private)
    compact = rules.sign_compact(key, "hansa.frame.v1", {"b": 1, "a": "é"})
    header, payload, signature = compact.split(".")
    private.public_key().verify(decoded(signature), f"{header}.{payload}".encode())
    assert json.loads(decoded(header)) == {"alg": "EdDSA", "kid": "key-1", "typ": "hansa.frame.v1"}
    assert json.loads(decoded(payload)) == {"a": "é", "b": 1}


@pytest.mark.parametrize(
    ("name", "segment"),
    [
        ("Hansa.1_a-b", "Hansa.1_a-b"),
        ("Hansa of the North", "Hansa-of-the-North"),
        ("Lübeck / 1", "L-beck-1"),
        ("-.Hansa.-", "Hansa"),
        ("ü", "registry"),
        ("", "registry"),
    ],
)
def test_the_spiffe_id_of_a_registry_has_a_path_of_few_characters(name: str, segment: str):
    assert registry_id_of(DOMAIN, name) == f"spiffe://{DOMAIN}/registry/{segment}"
