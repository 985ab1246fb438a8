"""Passkeys (WebAuthn): options for a browser, and checks of its answers. Nothing here is stored.

A passkey belongs to the host of PUBLIC_BASE_URL. An answer counts with user verification, for the challenge it was asked, from a page
of this registry, with a counter above the last one where the authenticator counts.
"""

import json
from collections.abc import Callable, Sequence
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

import msgspec

from hansa.foundation.plumbing.settings import Settings

from .errors import PasskeyRefused, PasskeysUnavailable
from .rules import CHALLENGE_SECONDS

if TYPE_CHECKING:
    from webauthn.helpers.structs import PublicKeyCredentialDescriptor

DEFAULT_PORTS = {"https": 443, "http": 80}
_Checked = TypeVar("_Checked")


class RelyingParty(msgspec.Struct, frozen=True):
    """Registry for authenticators: host of PUBLIC_BASE_URL, and the origin of its pages."""

    host: str
    origin: str
    name: str

    @classmethod
    def of(cls, settings: Settings) -> "RelyingParty":
        """The registry of these settings. Raises: PasskeysUnavailable for an address without a passkey in any browser."""
        if not has_passkeys(settings):
            raise PasskeysUnavailable
        address = urlsplit(settings.base_url)
        host = (address.hostname or "").lower()
        port = "" if address.port in {None, DEFAULT_PORTS[address.scheme]} else f":{address.port}"
        return cls(host, f"{address.scheme}://{host}{port}", settings.registry_name)


class NewPasskey(msgspec.Struct, frozen=True):
    """Passkey that a browser made."""

    credential_id: bytes
    public_key: bytes
    sign_count: int


def has_passkeys(settings: Settings) -> bool:
    """Return whether browsers make passkeys for the address of this registry: a host name, and https or localhost."""
    address = urlsplit(settings.base_url)
    host = (address.hostname or "").lower()
    try:
        ip_address(host)
    except ValueError:
        return address.scheme == "https" or host == "localhost" or host.endswith(".localhost")
    return False


def creation_options(
    party: RelyingParty, *, challenge: bytes, user_handle: bytes, email: str, known: Sequence[bytes]
) -> dict[str, Any]:
    """Options for `navigator.credentials.create`, in their JSON form; `known` are the passkeys that the account has."""
    from webauthn import generate_registration_options
    from webauthn.helpers.structs import (
        AuthenticatorSelectionCriteria,
        ResidentKeyRequirement,
        UserVerificationRequirement,
    )

    options = generate_registration_options(
        rp_id=party.host,
        rp_name=party.name,
        user_id=user_handle,
        user_name=email,
        challenge=challenge,
        timeout=CHALLENGE_SECONDS * 1000,
        authenticator_selection=AuthenticatorSelectionCriteria(
            resident_key=ResidentKeyRequirement.PREFERRED,
            user_verification=UserVerificationRequirement.REQUIRED,
        ),
        exclude_credentials=_descriptors(known),
    )
    return _as_json(options)


def request_options(
    party: RelyingParty, *, challenge: bytes, known: Sequence[bytes], seconds: int
) -> dict[str, Any]:
    """Options for `navigator.credentials.get`, in their JSON form."""
    from webauthn import generate_authentication_options
    from webauthn.helpers.structs import UserVerificationRequirement

    options = generate_authentication_options(
        rp_id=party.host,
        challenge=challenge,
        timeout=seconds * 1000,
        allow_credentials=_descriptors(known),
        user_verification=UserVerificationRequirement.REQUIRED,
    )
    return _as_json(options)


def made_passkey(party: RelyingParty, credential: dict[str, Any], challenge: bytes) -> NewPasskey:
    """The passkey that a browser made for this challenge. Raises: PasskeyRefused."""
    from webauthn import verify_registration_response

    made = _checked(
        lambda: verify_registration_response(
            credential=credential,
            expected_challenge=challenge,
            expected_rp_id=party.host,
            expected_origin=party.origin,
            require_user_verification=True,
        )
    )
    return NewPasskey(made.credential_id, made.credential_public_key, made.sign_count)


def credential_id_of(credential: dict[str, Any]) -> bytes:
    """The passkey that an answer names. Raises: PasskeyRefused."""
    from webauthn.helpers import parse_authentication_credential_json

    return _checked(lambda: parse_authentication_credential_json(credential)).raw_id


def sign_count_of(
    party: RelyingParty, assertion: dict[str, Any], challenge: bytes, *, public_key: bytes, sign_count: int
) -> int:
    """The new counter of a passkey that answered this challenge; `sign_count` is the last one. Raises: PasskeyRefused."""
    from webauthn import verify_authentication_response

    answer = _checked(
        lambda: verify_authentication_response(
            credential=assertion,
            expected_challenge=challenge,
            expected_rp_id=party.host,
            expected_origin=party.origin,
            credential_public_key=public_key,
            credential_current_sign_count=sign_count,
            require_user_verification=True,
        )
    )
    return answer.new_sign_count


def encoded(value: bytes) -> str:
    """The bytes in base64url, as authenticators write them."""
    from webauthn.helpers import bytes_to_base64url

    return bytes_to_base64url(value)


def _checked(check: Callable[[], _Checked]) -> _Checked:
    try:
        return check()
    except Exception:  # noqa: BLE001
        # The answer of a stranger passes through parsers of JSON, CBOR, X.509 and keys, each with errors of its own.
        raise PasskeyRefused from None


def _descriptors(known: Sequence[bytes]) -> "list[PublicKeyCredentialDescriptor]":
    from webauthn.helpers.structs import PublicKeyCredentialDescriptor

    return [PublicKeyCredentialDescriptor(id=credential_id) for credential_id in known]


def _as_json(options: Any) -> dict[str, Any]:
    from webauthn import options_to_json

    members: dict[str, Any] = json.loads(options_to_json(options))
    return members
