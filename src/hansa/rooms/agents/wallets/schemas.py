"""Shapes of wallets."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field

from hansa.foundation.values import ethereum
from hansa.foundation.values.lazy_model import LazyModel
from hansa.foundation.values.request_body import RequestBody

from .rules import Wallet, receive_address

ADDRESS_MAX_CHARACTERS = 64

Address = Annotated[
    str,
    Field(
        max_length=ADDRESS_MAX_CHARACTERS,
        description="`0x` and 40 hexadecimal digits, with the checksum of EIP-55 if its case is mixed.",
        examples=["0x857b06519E91e3A54538791bDbb0E22373e36b66"],
    ),
]


class WalletChallengeIn(RequestBody):
    """Which wallet is to be bound."""

    address: Address


class WalletChallengeOut(LazyModel):
    """The text that the wallet signs as a personal message (EIP-191)."""

    challenge: str
    expires_at: datetime


class WalletIn(RequestBody):
    """The wallet, the challenge it was given, and its signature of it."""

    address: Address
    challenge: Annotated[str, Field(max_length=2000)]
    signature: Annotated[
        str, Field(max_length=200, description="`0x` and 65 bytes in hexadecimal digits: r, s, v.")
    ]


class WalletOut(LazyModel):
    """A wallet whose signatures pay for the agent."""

    address: str
    agent_did: str
    bound_at: datetime

    @classmethod
    def of(cls, wallet: Wallet) -> "WalletOut":
        """The wallet as it is answered."""
        return cls(
            address=ethereum.checksum_address(wallet.address), agent_did=wallet.did, bound_at=wallet.bound_at
        )


class WalletsOut(LazyModel):
    """The agent's wallets, the oldest first."""

    wallets: list[WalletOut]
    receive_address: str = Field(
        description="An address by which the agent is paid by wallets, whether it has one itself or not.",
        examples=["0x209693Bc6afc0C5328bA36FaF03C514EF312287C"],
    )

    @classmethod
    def of(cls, did: str, wallets: Sequence[Wallet]) -> "WalletsOut":
        """All wallets of an agent."""
        return cls(
            wallets=[WalletOut.of(wallet) for wallet in wallets],
            receive_address=ethereum.checksum_address(receive_address(did)),
        )


class UnboundWalletOut(LazyModel):
    """The wallet signs for the agent no longer."""

    address: str
    status: Literal["unbound"] = "unbound"
