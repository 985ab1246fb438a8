"""Requirements and payments of x402, judged without I/O. Reasons are error codes of the protocol.

Where the protocol has no code, the reason is `invalid_exact_hansa_…` for the native network, and else the code of the
registry's own refusal in small letters.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from hansa.foundation.values import ethereum
from hansa.foundation.values.errors import Refused
from hansa.foundation.values.money import AMOUNT_MAX_UNITS, UNIT, Minor
from hansa.rooms.commerce.payments import Token
from hansa.rooms.ledger import InsufficientBalance

from .networks import DOMAIN_VERSION, SCHEME, Networks, authorization_digest

VERSION = 2
AMOUNT_MAX = AMOUNT_MAX_UNITS * UNIT
NONCE_BYTES = 32
UINT256_MAX = 2**256 - 1
TOKEN_MAX_CHARACTERS = 256

SETTLEMENT_PENDING = "settlement_pending"
NONCE_USED = "invalid_exact_evm_nonce_already_used"
WRONG_SIGNATURE = "invalid_exact_evm_payload_signature"
INVALID_PAYLOAD = "invalid_payload"
INVALID_REQUIREMENTS = "invalid_payment_requirements"
INSUFFICIENT_FUNDS = "insufficient_funds"
AMOUNT_MISMATCH = "invalid_exact_hansa_payload_amount_mismatch"

_UINT = re.compile(r"[0-9]{1,78}", re.ASCII)


class PaymentInvalid(Exception):
    """Refusal of a payment that does not meet the requirements; nothing was moved."""

    def __init__(self, reason: str, message: str, payer: str | None = None) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message
        self.payer = payer


class Requirements(msgspec.Struct, frozen=True):
    """Requirements of a service; `amount` in minor units."""

    network: str
    amount: Minor
    pay_to: str


class Authorization(msgspec.Struct, frozen=True):
    """A TransferWithAuthorization (EIP-3009) with its signature."""

    sender: bytes
    recipient: bytes
    value: int
    valid_after: int
    valid_before: int
    nonce: bytes
    signature: bytes

    @property
    def payer(self) -> str:
        """The address that signed it."""
        return ethereum.checksum_address(self.sender)

    def digest(self, domain: bytes) -> bytes:
        """Return the digest that is signed."""
        numbers = (self.value, self.valid_after, self.valid_before)
        return authorization_digest(domain, self.sender, self.recipient, numbers, self.nonce)


@dataclass(frozen=True)
class NativePayment:
    """A payment token and the registry that issued it."""

    token: str = field(repr=False)
    issuer: str


def read_requirements(
    networks: Networks, version: object, payload: Mapping[str, Any], required: Mapping[str, Any]
) -> Requirements:
    """Read the requirements of a request that this registry settles. Raises: PaymentInvalid."""
    if version != VERSION or payload.get("x402Version", VERSION) != VERSION:
        raise PaymentInvalid("invalid_x402_version", f"x402Version must be {VERSION}.")
    accepted = payload.get("accepted")
    if not isinstance(accepted, Mapping):
        raise PaymentInvalid(INVALID_PAYLOAD, "paymentPayload.accepted must be an object.")
    if required.get("scheme") != SCHEME or accepted.get("scheme") != SCHEME:
        raise PaymentInvalid("unsupported_scheme", f"scheme must be {SCHEME}.")
    network = required.get("network")
    if network not in (networks.wallet, networks.native):
        raise PaymentInvalid(
            "invalid_network", f"network must be {networks.wallet} or {networks.native}: /x402/supported."
        )
    if accepted.get("network") != network:
        raise PaymentInvalid(
            "network_mismatch", "The network that was accepted is not the one that is required."
        )
    amount, pay_to, asset = required.get("amount"), required.get("payTo"), required.get("asset")
    number = _uint(amount)
    if number is None or not 0 < number <= AMOUNT_MAX:
        raise PaymentInvalid(
            INVALID_REQUIREMENTS, "amount must be a whole number of minor units above 0, as a string."
        )
    own_asset = networks.asset.lower() if network == networks.wallet else networks.currency
    if not isinstance(asset, str) or (asset.lower() if network == networks.wallet else asset) != own_asset:
        raise PaymentInvalid(INVALID_REQUIREMENTS, "asset is not the one of this network: /x402/supported.")
    if not isinstance(pay_to, str):
        raise PaymentInvalid(INVALID_REQUIREMENTS, "payTo must be a string.")
    if network == networks.wallet:
        _require_own_domain(networks, required.get("extra"))
    return Requirements(network, Minor(number), pay_to)


def _require_own_domain(networks: Networks, extra: object) -> None:
    declared = extra if isinstance(extra, Mapping) else {}
    if declared.get("name", networks.domain_name) != networks.domain_name:
        raise PaymentInvalid(
            "invalid_exact_evm_token_name_mismatch", f"extra.name must be {networks.domain_name}."
        )
    if declared.get("version", DOMAIN_VERSION) != DOMAIN_VERSION:
        raise PaymentInvalid(
            "invalid_exact_evm_token_version_mismatch", f"extra.version must be {DOMAIN_VERSION}."
        )


def read_authorization(payload: Mapping[str, Any]) -> Authorization:
    """The authorization in a payment payload. Raises: PaymentInvalid."""
    inner = payload.get("payload")
    declared = inner.get("authorization") if isinstance(inner, Mapping) else None
    if not isinstance(inner, Mapping) or not isinstance(declared, Mapping):
        raise PaymentInvalid(
            INVALID_PAYLOAD, "payload must have an authorization (EIP-3009) and a signature."
        )
    sender, recipient = (
        ethereum.bytes_of_hex(declared.get(name), ethereum.ADDRESS_BYTES) for name in ("from", "to")
    )
    nonce = ethereum.bytes_of_hex(declared.get("nonce"), NONCE_BYTES)
    value, after, before = (_uint(declared.get(name)) for name in ("value", "validAfter", "validBefore"))
    if (
        sender is None
        or recipient is None
        or nonce is None
        or value is None
        or after is None
        or before is None
    ):
        raise PaymentInvalid(
            INVALID_PAYLOAD,
            "authorization must have from and to (addresses), nonce (32 bytes), value, validAfter and validBefore.",
        )
    signature = ethereum.bytes_of_hex(inner.get("signature"), ethereum.SIGNATURE_BYTES)
    if signature is None:
        raise PaymentInvalid(
            WRONG_SIGNATURE, "signature must be 0x and 65 bytes.", ethereum.checksum_address(sender)
        )
    return Authorization(sender, recipient, value, after, before, nonce, signature)


def require_as_required(authorization: Authorization, required: Requirements) -> None:
    """The payee and the amount are those that are required. Raises: PaymentInvalid."""
    if authorization.recipient != ethereum.bytes_of_hex(required.pay_to, ethereum.ADDRESS_BYTES):
        raise PaymentInvalid(
            "invalid_exact_evm_payload_recipient_mismatch",
            "authorization.to is not payTo.",
            authorization.payer,
        )
    if authorization.value != required.amount:
        raise PaymentInvalid(
            "invalid_exact_evm_payload_authorization_value_mismatch",
            "authorization.value is not the amount that is required.",
            authorization.payer,
        )


def require_within_window(authorization: Authorization, now: int) -> None:
    """`now` is after validAfter and before validBefore, as the contracts of EIP-3009 judge it. Raises: PaymentInvalid."""
    if now <= authorization.valid_after:
        raise PaymentInvalid(
            "invalid_exact_evm_payload_authorization_valid_after",
            "The authorization is not valid yet.",
            authorization.payer,
        )
    if now >= authorization.valid_before:
        raise PaymentInvalid(
            "invalid_exact_evm_payload_authorization_valid_before",
            "The authorization has expired.",
            authorization.payer,
        )


def read_native(payload: Mapping[str, Any], networks: Networks) -> NativePayment:
    """The payment token in a payment payload, issued here. Raises: PaymentInvalid."""
    inner = payload.get("payload")
    token, issuer = (inner.get("token"), inner.get("issuer")) if isinstance(inner, Mapping) else (None, None)
    if (
        not isinstance(token, str)
        or not 0 < len(token) <= TOKEN_MAX_CHARACTERS
        or not isinstance(issuer, str)
    ):
        raise PaymentInvalid(INVALID_PAYLOAD, "payload must have a token and its issuer.")
    if issuer.rstrip("/") != networks.authority.rstrip("/"):
        raise PaymentInvalid("unsupported_issuer", "Only payment tokens of this registry are settled here.")
    return NativePayment(token, issuer)


def require_capturable(token: Token, required: Requirements) -> None:
    """The token is captured by the payee that is required, and covers the amount. Raises: PaymentInvalid."""
    if token.capture_by != "payee":
        raise PaymentInvalid(
            "capture_not_allowed", "Only tokens with capture_by payee are settled here.", token.caller
        )
    if required.pay_to != token.payee:
        raise PaymentInvalid(
            "invalid_exact_hansa_payload_recipient_mismatch",
            "payTo is not the agent that the token is for.",
            token.caller,
        )
    if required.amount > token.amount:
        raise PaymentInvalid(
            AMOUNT_MISMATCH,
            "The amount that is required is above that of the token.",
            token.caller,
        )


def reason_of(refusal: Refused) -> str:
    """Return the reason for a refusal of the registry."""
    return INSUFFICIENT_FUNDS if isinstance(refusal, InsufficientBalance) else refusal.code.lower()


def _uint(text: object) -> int | None:
    if not isinstance(text, str) or not _UINT.fullmatch(text):
        return None
    number = int(text)
    return number if number <= UINT256_MAX else None
