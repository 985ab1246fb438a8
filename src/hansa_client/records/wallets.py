"""Answers about wallets, whose signatures pay for an agent."""

from datetime import datetime

from .record import Record


class WalletChallenge(Record, frozen=True):
    """The text that a wallet signs as a personal message (EIP-191) to be bound; it states the payments that the signature permits."""

    challenge: str
    expires_at: datetime


class Wallet(Record, frozen=True):
    """A wallet whose signatures pay for the agent."""

    address: str
    agent_did: str
    bound_at: datetime


class WalletList(Record, frozen=True):
    """The agent's wallets, the oldest first. By `receive_address` wallets pay the agent, also without one of its own."""

    wallets: list[Wallet]
    receive_address: str


class UnboundWallet(Record, frozen=True):
    """A wallet that signs for the agent no longer."""

    address: str
    status: str
