"""Shapes of x402, version 2. Members that have no value are absent."""

from typing import Annotated, Any

from pydantic import ConfigDict, Field
from pydantic.alias_generators import to_camel

from hansa.foundation.values.lazy_model import LazyModel
from hansa.foundation.values.money import DECIMALS
from hansa.foundation.values.request_body import RequestBody

from .judging import VERSION, PaymentInvalid, Requirements
from .networks import DOMAIN_VERSION, SCHEME, Networks
from .settlement import Settlement

ASSET_TRANSFER_METHOD = "eip3009"
TIMEOUT_SECONDS = 300
RESOURCE_TYPE = "http"


class _Model(LazyModel):
    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True)


class PaymentIn(RequestBody):
    """A payment and what it is to pay."""

    model_config = ConfigDict(alias_generator=to_camel)

    x402_version: Annotated[int, Field(alias="x402Version", strict=True)]
    payment_payload: dict[str, Any]
    payment_requirements: dict[str, Any]


class KindOut(_Model):
    """A network on which this registry settles."""

    x402_version: int = Field(default=VERSION, alias="x402Version")
    scheme: str = SCHEME
    network: str
    extra: dict[str, Any]


class SupportedOut(_Model):
    """What this registry settles. `extra.authority` alone says who settles, never the name of the network."""

    kinds: list[KindOut]
    extensions: list[str] = Field(default_factory=list)
    signers: dict[str, list[str]] = Field(default_factory=dict)

    @classmethod
    def of(cls, networks: Networks) -> "SupportedOut":
        """Both networks of a registry."""
        return cls(
            kinds=[
                KindOut(network=networks.wallet, extra=wallet_extra(networks)),
                KindOut(network=networks.native, extra=native_extra(networks)),
            ],
            signers={"eip155:*": [], "hansa:*": []},
        )


def wallet_extra(networks: Networks) -> dict[str, Any]:
    """Return the data that a wallet needs: the EIP-712 domain, and the fee that its agent pays on top."""
    return {
        "name": networks.domain_name,
        "version": DOMAIN_VERSION,
        "assetTransferMethod": ASSET_TRANSFER_METHOD,
        "asset": networks.asset,
        **native_extra(networks),
    }


def native_extra(networks: Networks) -> dict[str, Any]:
    """Return the settling authority, the unit, and the fee, which the payer pays on top of the amount."""
    fees = networks.fees
    return {
        "authority": networks.authority,
        "currency": networks.currency,
        "decimals": DECIMALS,
        "fee": {"rate": float(fees.rate_base), "maxRate": float(fees.rate_max), "paidBy": "payer"},
    }


class PaymentVerificationOut(_Model):
    """Whether a payment is good for what is required."""

    is_valid: bool
    invalid_reason: str | None = None
    invalid_message: str | None = None
    payer: str | None = Field(
        default=None, description="The address of the wallet, or the DID of the token's caller."
    )
    extra: dict[str, Any] | None = Field(
        default=None, description="`fee`: what the payer pays on top, in minor units."
    )

    @classmethod
    def refused(cls, invalid: PaymentInvalid) -> "PaymentVerificationOut":
        """Why a payment is not good."""
        return cls(
            is_valid=False,
            invalid_reason=invalid.reason,
            invalid_message=invalid.message,
            payer=invalid.payer,
        )


class PaymentSettlementOut(_Model):
    """What became of a payment. `settlement_pending`: not known yet; settle the same payment again, sign no other."""

    success: bool
    error_reason: str | None = None
    error_message: str | None = None
    payer: str | None = None
    transaction: str = Field(description="While the outcome is not known, what names the payment.")
    network: str
    amount: str | None = None
    extra: dict[str, Any] | None = Field(
        default=None,
        description="`payment`: what names the payment, pending and settled alike: the id of its payment token, or the digest"
        " that a wallet signed. `fee`: what the payer paid on top, in minor units.",
    )

    @classmethod
    def of(cls, settlement: Settlement, required: Requirements) -> "PaymentSettlementOut":
        """A payment that was settled, or whose outcome is not known."""
        return cls(
            success=settlement.reason is None,
            error_reason=settlement.reason,
            payer=settlement.payer,
            transaction=settlement.transaction or settlement.payment,
            network=required.network,
            amount=str(settlement.amount) if settlement.reason is None else None,
            extra={
                "payment": settlement.payment,
                **({} if settlement.fee is None else {"fee": str(settlement.fee)}),
            },
        )

    @classmethod
    def refused(cls, invalid: PaymentInvalid, network: object) -> "PaymentSettlementOut":
        """Why a payment was not settled; nothing was moved."""
        return cls(
            success=False,
            error_reason=invalid.reason,
            error_message=invalid.message,
            payer=invalid.payer,
            transaction="",
            network=network if isinstance(network, str) else "",
        )


class AcceptedPayment(_Model):
    """One means by which a resource can be paid."""

    scheme: str = SCHEME
    network: str
    amount: str
    asset: str
    pay_to: str
    max_timeout_seconds: int = TIMEOUT_SECONDS
    extra: dict[str, Any]


class DiscoveredResource(_Model):
    """A priced agent."""

    resource: str
    type: str = RESOURCE_TYPE
    x402_version: int = Field(default=VERSION, alias="x402Version")
    accepts: list[AcceptedPayment]
    last_updated: int
    metadata: dict[str, Any]


class DiscoveredPagination(_Model):
    """Which part of the list this is."""

    limit: int
    offset: int
    total: int


class DiscoveredResourcesOut(_Model):
    """The priced agents of this registry, the newest first."""

    x402_version: int = Field(default=VERSION, alias="x402Version")
    items: list[DiscoveredResource]
    pagination: DiscoveredPagination
