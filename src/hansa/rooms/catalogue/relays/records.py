"""Registries that are known by a relay, and the items that are passed on."""

from typing import Any, NamedTuple

HOPS_MAX = 5
"""The largest hop distance at which a registry is known; a peer is at distance 1."""


class DeclaredHome(NamedTuple):
    """A home as a relay states it: where it is, and at which hop distance it is from here by that relay."""

    ledger_id: str
    registry_url: str
    hop_distance: int


class StoredHome(NamedTuple):
    """A home as it is kept. `keys` are None, and `trouble` is a reason, while it could not be verified at its own address.

    `epoch` is that of the newest items taken, None before the first. `age_seconds`: since its address was read.
    """

    ledger_id: str
    peer_id: int
    relay_ledger_id: str
    hop_distance: int
    registry_url: str
    registry_name: str | None
    settlement_currency: str | None
    keys: Any
    epoch: int | None
    trouble: str | None
    age_seconds: float


class SignedItem(NamedTuple):
    """An item that its home signed, with its place in the feed of relayed items."""

    id: int
    position: int
    source_registry: str
    item: str
