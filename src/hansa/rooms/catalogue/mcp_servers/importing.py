"""Import of an MCP server: a listing card, or one more interface of an own agent's card."""

from typing import Any

import msgspec

from hansa.foundation.plumbing.outgoing import CallLimits, NamedBy, Outgoing, OutgoingTrouble
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Database, Tx
from hansa.foundation.plumbing.web.bodies import BodyInvalid, number_as_written, parse_json
from hansa.rooms.catalogue.card_formats import readable_by_both
from hansa.rooms.catalogue.changed_format import with_changed_format
from hansa.rooms.catalogue.owning import store as owning_store
from hansa.rooms.catalogue.owning.create import NewCardRequest, create_card, require_room_for_unverified
from hansa.rooms.catalogue.owning.ownership import Ownership
from hansa.rooms.catalogue.reading import card_numbered
from hansa.rooms.catalogue.records import Card
from hansa.rooms.catalogue.replace import replace_document

from . import store
from .errors import ServerJsonInvalid
from .records import ServerSource
from .server_json import BYTES_MAX, MEMBER, CheckedServer, PointedTrouble, check_server, is_server

FETCH = CallLimits(seconds=10.0, body_bytes=4 * BYTES_MAX)
OK = 200


class ImportOrder(msgspec.Struct, frozen=True):
    """Import that a developer orders: into the card of the agent, or as a listing card."""

    server: CheckedServer
    agent_did: str | None
    developer_id: int


class _Undone(Exception):
    """End of a transaction that was only a preview."""

    def __init__(self, card: Card) -> None:
        super().__init__()
        self.card = card


async def read_server(source: ServerSource, outgoing: Outgoing, settings: Settings) -> CheckedServer:
    """Return the server, fetched where it is named by its address. Raises: ServerJsonInvalid."""
    if source.url is None:
        checked, pointer = (
            check_server(source.server_json, settings.outgoing_allow_user_hosts),
            "/server_json",
        )
    else:
        document = await _fetched(source.url, outgoing)
        checked, pointer = check_server(document, settings.outgoing_allow_user_hosts), "/url"
    if checked.troubles:
        raise ServerJsonInvalid.of(pointer, checked.troubles)
    return checked


async def import_server(tx: Tx, order: ImportOrder, settings: Settings, ownership: Ownership) -> Card:
    """Store the server as a listing card, or as an interface of the agent's card, and read the card back.

    Raises: as `create_card`, QuotaReached.
    """
    server, agent_did, developer_id = order.server, order.agent_did, order.developer_id
    stated = {MEMBER: server.stated}
    number = None
    await ownership.require_not_suspended(tx, developer_id)
    if agent_did is not None:
        await ownership.require_active_agent(tx, agent_did, developer_id)
        number = await owning_store.lock_card(tx, agent_did)
    await require_room_for_unverified(tx, developer_id, number)
    if number is None:
        request_card = NewCardRequest(server.card(), agent_did, stated)
        number = (await create_card(tx, request_card, developer_id, settings, ownership)).card_id
    else:
        card = await card_numbered(tx, number)
        document = with_interfaces_of(server, card.card_data or {})
        await replace_document(tx, number, document, source="owner", stated=stated)
    await store.note_import(tx, number, server.name)
    return await card_numbered(tx, number)


async def preview_import(
    database: Database, order: ImportOrder, settings: Settings, ownership: Ownership
) -> Card:
    """Return the card that `import_server` would store; nothing is stored. Raises: as `import_server`."""

    async def undone(tx: Tx) -> None:
        raise _Undone(await import_server(tx, order, settings, ownership))

    try:
        await database.transaction(undone)
    except _Undone as preview:
        return preview.card
    raise AssertionError("the transaction was to be undone")


def with_interfaces_of(server: CheckedServer, stored: dict[str, Any]) -> dict[str, Any]:
    """Return the stored document with the interfaces of the server in the place of those of a former import."""
    complete = readable_by_both(stored)
    others = [one for one in complete.get("supportedInterfaces", []) if not is_server(one)]
    if not others and "supportedInterfaces" not in stored:
        # A stub has no members of a card but its name.
        return {**server.card(), "name": stored.get("name", server.name)}
    return with_changed_format({**complete, "supportedInterfaces": [*others, *server.interfaces]}, stored)


async def _fetched(url: str, outgoing: Outgoing) -> Any:
    try:
        answer = await outgoing.get(
            url, named_by=NamedBy.USER, headers={"Accept": "application/json"}, limits=FETCH
        )
    except OutgoingTrouble as error:
        raise _unserved(f"The address gave no answer: {error.reason}.") from None
    if answer.status != OK:
        raise _unserved(f"The address answered {answer.status}.")
    try:
        return parse_json(answer.body, number_as_written)
    except BodyInvalid:
        raise _unserved("The answer is not JSON.") from None


def _unserved(sentence: str) -> ServerJsonInvalid:
    return ServerJsonInvalid.of("/url", (PointedTrouble("", sentence),))
