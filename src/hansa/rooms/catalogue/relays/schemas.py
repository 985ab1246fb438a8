"""Shapes of relayed cards."""

from collections.abc import Sequence

from pydantic import Field

from hansa.foundation.values.lazy_model import LazyModel
from hansa.rooms.catalogue.exports.schemas import PeerPageOut

from .records import StoredHome


class HomeOut(LazyModel):
    """Where the home of relayed items is."""

    ledger_id: str = Field(examples=["south.example.org"])
    registry_url: str = Field(examples=["https://south.example.org"])
    hop_distance: int = Field(
        description="From the registry that passes the items on: 1 where the home is its peer."
    )


class RelayedPageOut(PeerPageOut):
    """A page of items that their homes signed, and where these homes are. Nothing in it is signed by the relay."""

    homes: list[HomeOut]


class RelayedHome(LazyModel):
    """A registry that is no peer of this one: its cards come by a peer."""

    ledger_id: str = Field(examples=["south.example.org"])
    registry_name: str | None = Field(description="As its verified card states it.", examples=["south"])
    registry_url: str = Field(examples=["https://south.example.org"])
    relay: str = Field(
        description="The ledger id of the peer that brings its cards.", examples=["hub.example.org"]
    )
    hop_distance: int = Field(description="2 or more.", examples=[2])
    trouble: str | None = Field(
        description="Why it could not be verified at its own address; its cards are not taken then."
    )


class RelayedHomes(LazyModel):
    """The registries that are known by a relay."""

    homes: list[RelayedHome]
    count: int

    @classmethod
    def of(cls, found: Sequence[StoredHome]) -> "RelayedHomes":
        """These homes."""
        shown = [
            RelayedHome(
                ledger_id=home.ledger_id,
                registry_name=home.registry_name,
                registry_url=home.registry_url,
                relay=home.relay_ledger_id,
                hop_distance=home.hop_distance,
                trouble=home.trouble,
            )
            for home in found
        ]
        return cls(homes=shown, count=len(shown))
