"""Message that a wallet signs to pay for a call (x402, scheme `exact`: EIP-3009 under EIP-712), and the payment sent. No I/O.

- Network, asset and domain are those that the payer's own registry states; a service that states others is not paid.
- `payTo` is the receive address of a payee, which follows from its DID, so that its signed card decides on the price.
- The nonce is drawn once for a payment and kept in the journal: a repeated attempt signs the same authorization, which the
  registry settles once.
"""

import base64
import binascii
import hashlib
import re
import secrets
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Protocol, Self

import msgspec

from .errors import OfferDeclined
from .offer import Offer

WALLET = "wallet"
"""The `capture_by` of a payment that a wallet signs."""
REQUIRED_HEADER, PAYMENT_HEADER, RESPONSE_HEADER = "payment-required", "payment-signature", "payment-response"
VERSION = 2
SCHEME = "exact"
HEADER_MAX_CHARACTERS = 16_384
ADDRESS_BYTES, NONCE_BYTES, SIGNATURE_BYTES = 20, 32, 65
# An authorization counts from ten minutes ago on: the registry's clock may be behind.
BACKDATED_SECONDS = 600
WINDOW_SECONDS_MIN, WINDOW_SECONDS_MAX = 60, 3600
_MINOR = re.compile(r"[0-9]{1,30}", re.ASCII)
_NUMBERS = ("value", "validAfter", "validBefore")

_TYPES = {
    "EIP712Domain": [
        {"name": "name", "type": "string"},
        {"name": "version", "type": "string"},
        {"name": "chainId", "type": "uint256"},
        {"name": "verifyingContract", "type": "address"},
    ],
    "TransferWithAuthorization": [
        {"name": "from", "type": "address"},
        {"name": "to", "type": "address"},
        *({"name": name, "type": "uint256"} for name in _NUMBERS),
        {"name": "nonce", "type": "bytes32"},
    ],
}


class SignedMessage(Protocol):
    """Signature that a wallet returns."""

    @property
    def signature(self) -> bytes:
        """65 bytes r, s, v."""


class WalletSigner(Protocol):
    """A wallet that is bound to the paying agent, as the accounts of `eth_account` are."""

    @property
    def address(self) -> str:
        """`0x` and 40 hexadecimal digits."""

    def sign_typed_data(self, *, full_message: dict[str, Any]) -> SignedMessage:
        """Sign a message of EIP-712: {types, primaryType, domain, message}."""


@dataclass(frozen=True)
class WalletNetwork:
    """The wallet network of a registry."""

    network: str
    asset: str
    name: str
    version: str
    currency: str
    decimals: int

    @classmethod
    def of(cls, supported: object) -> Self:
        """The wallet network in the answer of `/x402/supported`. Raises: OfferDeclined."""
        kinds = supported.get("kinds") if isinstance(supported, Mapping) else None
        for kind in kinds if isinstance(kinds, list) else ():
            stated = kind.get("extra") if isinstance(kind, Mapping) else None
            if isinstance(stated, Mapping) and str(kind.get("network")).startswith("eip155:"):
                with suppress(msgspec.ValidationError):
                    return msgspec.convert({**stated, "network": kind["network"]}, cls)
        raise OfferDeclined("The registry settles no payments of wallets.")


@dataclass(frozen=True)
class WalletOffer:
    """The terms of a call in the units of the registry, and the requirements as the service stated them."""

    offer: Offer
    network: WalletNetwork
    required: Mapping[str, Any]
    resource: object

    @property
    def window_seconds(self) -> int:
        """How long an authorization counts."""
        stated = self.required.get("maxTimeoutSeconds")
        seconds = stated if isinstance(stated, int) else WINDOW_SECONDS_MAX
        return max(WINDOW_SECONDS_MIN, min(seconds, WINDOW_SECONDS_MAX))


class Authorization(msgspec.Struct, frozen=True):
    """A payment that a wallet is to sign, as the journal keeps it: without the signature."""

    network: WalletNetwork
    accepted: dict[str, Any]
    resource: Any
    members: dict[str, str]
    """`from`, `to`, `value`, `validAfter`, `validBefore`, `nonce` as x402 writes them."""

    @classmethod
    def of(cls, offer: WalletOffer, address: str, now: int) -> Self:
        """A new authorization by this wallet, with a nonce of its own."""
        return cls(
            offer.network,
            dict(offer.required),
            offer.resource,
            {
                "from": address,
                "to": offer.required["payTo"],
                "value": offer.required["amount"],
                "validAfter": str(now - BACKDATED_SECONDS),
                "validBefore": str(now + offer.window_seconds),
                "nonce": "0x" + secrets.token_hex(NONCE_BYTES),
            },
        )

    @classmethod
    def read(cls, text: str) -> Self:
        """Read an authorization in the form of `text`."""
        return msgspec.json.decode(text, type=cls)

    def text(self) -> str:
        """One line of JSON."""
        return msgspec.json.encode(self).decode()

    def typed_message(self) -> dict[str, Any]:
        """The whole message of EIP-712."""
        return {
            "types": _TYPES,
            "primaryType": "TransferWithAuthorization",
            "domain": {
                "name": self.network.name,
                "version": self.network.version,
                "chainId": int(self.network.network.removeprefix("eip155:")),
                "verifyingContract": self.network.asset,
            },
            "message": {**self.members, **{name: int(self.members[name]) for name in _NUMBERS}},
        }

    def signed_by(self, wallet: WalletSigner) -> dict[str, Any]:
        """The `PaymentPayload` of x402 with the wallet's signature."""
        return self.payload(wallet.sign_typed_data(full_message=self.typed_message()).signature)

    def payload(self, signature: bytes) -> dict[str, Any]:
        """The `PaymentPayload` of x402."""
        payload = {"signature": "0x" + bytes(signature).hex(), "authorization": self.members}
        stated = {"x402Version": VERSION, "accepted": self.accepted, "payload": payload}
        return stated if self.resource is None else {**stated, "resource": self.resource}

    def question(self) -> dict[str, Any]:
        """Return the body for `/x402/verify` that asks whether the nonce is used; without a signature it pays nothing."""
        return {
            "x402Version": VERSION,
            "paymentPayload": self.payload(bytes(SIGNATURE_BYTES)),
            "paymentRequirements": self.accepted,
        }


def receive_address(did: str) -> str:
    """The address by which wallets pay an agent (Decisions 6 V)."""
    return "0x" + hashlib.sha256(b"hansa-payee:" + did.encode()).digest()[-ADDRESS_BYTES:].hex()


def read_wallet_offer(
    headers: Mapping[str, str], network: WalletNetwork, payee: str | None
) -> WalletOffer | None:
    """Return the payment that a 402 of x402 requires on this network; None where it offers no payment there.

    `payee` is the DID that the caller means to pay; without it `extra.payee` of the requirements. Raises: OfferDeclined.
    """
    stated = decoded(headers.get(REQUIRED_HEADER))
    accepts = stated.get("accepts")
    for required in accepts if isinstance(accepts, list) else ():
        if isinstance(required, Mapping) and _is_on(required, network):
            return WalletOffer(_offer(required, network, payee), network, required, stated.get("resource"))
    return None


def decoded(header: str | None) -> Mapping[str, Any]:
    """The members of an x402 header; none where it is missing or unreadable."""
    try:
        members = msgspec.json.decode(base64.b64decode((header or "")[:HEADER_MAX_CHARACTERS], validate=True))
    except (binascii.Error, ValueError, msgspec.DecodeError, RecursionError):
        return {}
    return members if isinstance(members, dict) else {}


def encoded(members: Mapping[str, Any]) -> str:
    """The value of an x402 header."""
    return base64.b64encode(msgspec.json.encode(members)).decode()


def _is_on(required: Mapping[str, Any], network: WalletNetwork) -> bool:
    return (required.get("scheme"), required.get("network")) == (SCHEME, network.network)


def _offer(required: Mapping[str, Any], network: WalletNetwork, payee: str | None) -> Offer:
    extra = required.get("extra")
    stated = extra if isinstance(extra, Mapping) else {}
    asset, pay_to, amount = (required.get(name) for name in ("asset", "payTo", "amount"))
    if not isinstance(asset, str) or asset.lower() != network.asset.lower():
        raise OfferDeclined(f"The service demands another asset than {network.asset} of this registry.")
    if (stated.get("name", network.name), stated.get("version", network.version)) != (
        network.name,
        network.version,
    ):
        raise OfferDeclined(f"The service names another signing domain than {network.name}.")
    payee = payee or (stated["payee"] if isinstance(stated.get("payee"), str) else None)
    if payee is None:
        raise OfferDeclined("The service names an address only: state the DID of the `payee`.")
    if not isinstance(pay_to, str) or pay_to.lower() != receive_address(payee):
        raise OfferDeclined(f"The service demands a payment to another address than that of {payee}.")
    if not isinstance(amount, str) or not _MINOR.fullmatch(amount) or int(amount) == 0:
        raise OfferDeclined(f"An amount of x402 is a whole number of minor units above 0, got {amount!r}.")
    return Offer(payee, Decimal(amount).scaleb(-network.decimals), network.currency, capture_by=(WALLET,))
