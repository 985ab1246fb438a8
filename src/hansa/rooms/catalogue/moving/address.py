"""The address at which an agent is called: that of its first A2A interface that can be checked, else of its MCP server."""

from collections.abc import Mapping
from typing import Any

import msgspec

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.errors import Conflict
from hansa.foundation.values.web_address import read_web_address
from hansa.rooms.catalogue.mcp_servers.server_json import MCP
from hansa.rooms.catalogue.pulls.liveness import JSON_RPC
from hansa.rooms.catalogue.pulls.records import Interface
from hansa.rooms.catalogue.reading import card_of_agent


class AddressMissing(Conflict):
    """The card of the agent states no address that the registry can check."""

    code = "ADDRESS_MISSING"
    sentence = "The card states no web address of an A2A interface by JSON-RPC or of an MCP server."
    remedy = "Write an interface with its address to the card, then send the request again."


class CardAddress(msgspec.Struct, frozen=True):
    """The interface of an agent that a deployment moves, and the version of the card that states it."""

    version: int
    interface: Interface


async def address_of_agent(tx: Tx, did: str) -> CardAddress:
    """The address of an own agent, as its card states it. Raises: CardUnknown, AddressMissing."""
    card = await card_of_agent(tx, did)
    interface = main_interface_of(card.card_data or {})
    if interface is None:
        raise AddressMissing
    return CardAddress(card.version, interface)


def main_interface_of(document: Mapping[str, Any]) -> Interface | None:
    """The interface that a deployment moves."""
    stated = [
        Interface(one["url"], one["protocolBinding"].upper(), one.get("protocolVersion") or "1.0")
        for one in document.get("supportedInterfaces", [])
        if read_web_address(one["url"]) is not None
    ]
    for binding in (JSON_RPC, MCP):
        for interface in stated:
            if interface.binding == binding:
                return interface
    return None
