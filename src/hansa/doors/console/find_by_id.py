"""Things that a UUID names, and the calls that an id of a request or an idempotency key names.

The public has agents, events, licences, transfers between registries and receipts. A person also finds what belongs to own agents: approvals,
payment tokens, capabilities, sagas of the bridge, private organizations.
"""

from urllib.parse import urlencode
from uuid import UUID

import msgspec

from hansa.doors.console.agent_page import path_of
from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.caller import Developer
from hansa.rooms import (
    agents,
    catalogue,
    commerce,
    federation,
    journal,
    ledger,
    organizations,
    people,
    transfers,
)

# Page below that of an own agent, by its name in words.
PAGES = {"Saga": "wallet/bridge/{}", "Capability": "capabilities", "Payment token": "wallet/tokens"}


class Found(msgspec.Struct, frozen=True):
    """One thing that the input may name: its kind and number or name in words, and its page."""

    words: str
    address: str


async def with_uuid(tx: Tx, settings: Settings, person: Developer | None, text: str) -> list[Found]:
    """The things with this UUID; one that names nothing else is taken for that of a payment. Empty for a text that is no UUID."""
    try:
        uuid = UUID(text)
    except ValueError:
        return []
    found = await _public(tx, settings, uuid) + await of_organization(tx, person, str(uuid))
    if person is not None:
        found += await _own(tx, person, uuid)
    return found or [Found(f"Payment {uuid}", f"/pay/{uuid}")]


async def calls_with(runtime: Runtime, person: Developer, text: str) -> list[Found]:
    """The calls of a person, or of own agents, with this id of a request or this idempotency key; those of this process up to now."""
    if " " in text:
        return []
    await people.write_calls(runtime)
    calls, _ = await runtime.database.read(
        lambda tx: people.calls_of(tx, person.id, named=text, limit=1, offset=0)
    )
    return [Found(f"Request {text}", f"/account/requests?{urlencode({'route': text})}")] if calls else []


async def of_organization(tx: Tx, person: Developer | None, key: str) -> list[Found]:
    """The organization with this id or short name: its pages for a member, else the profile of a public one."""
    try:
        shown = await organizations.profile_of(tx, key, person.id if person else None)
    except organizations.OrganizationUnknown:
        return []
    one = shown.organization
    root = "/organizations" if one.role is None else "/account/organizations"
    return [Found(one.name, f"{root}/{one.slug}")]


async def _public(tx: Tx, settings: Settings, uuid: UUID) -> list[Found]:
    found = []
    try:
        card = await catalogue.card_of(tx, str(uuid))
        found.append(Found(card.name, path_of(card.did, card.card_id)))
    except catalogue.CardUnknown:
        pass
    if event := await journal.public_event_of_id(tx, uuid):
        found.append(Found(f"Event {event.sequence}", f"/events/{event.sequence}"))
    if lid := await federation.issued_licence_id(tx, str(uuid)):
        found.append(Found(f"Licence {lid}", f"/licences/{lid}"))
    tx_ids = await transfers.transactions_of(tx, uuid, ledger.Book.of(settings))
    return found + [Found(f"Transaction tx-{tx_id}", f"/transactions/tx-{tx_id}") for tx_id in tx_ids]


async def _own(tx: Tx, person: Developer, uuid: UUID) -> list[Found]:
    found = []
    try:
        await agents.own_approval(tx, person, uuid)
        found.append(Found(f"Approval {uuid}", f"/account/approvals/{uuid}"))
    except agents.ApprovalUnknown:
        pass
    token = await commerce.token_of_id(tx, uuid)
    parties = {
        "Saga": await transfers.bridge_parties(tx, uuid),
        "Capability": await agents.capability_parties(tx, uuid),
        # A settled token has a receipt, which everybody finds.
        "Payment token": [token.caller, token.payee] if token and token.status != "settled" else [],
    }
    for name, dids in parties.items():
        if own := await agents.readable_among(tx, person.id, dids) if dids else frozenset():
            found.append(Found(f"{name} {uuid}", f"/account/agents/{min(own)}/{PAGES[name].format(uuid)}"))
    return found
