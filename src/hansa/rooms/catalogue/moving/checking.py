"""Check that an agent answers at an address, by calls of the outgoing guard: nothing is written.

- The card there, below the address or at the root of its host, is valid and has the DID of the agent in its member `did`.
- A card that has to be signed by the agent states the interface at this very address, query included: a signed card of another address proves
  nothing of this one. It is signed with the present key, which is older than any token that could have set it, or the first one.
- An address that the agent left more than a day ago may have another holder, who serves what the agent signed there: the owner leads back to it.
- The agent answers a request for a task that does not exist, or lists its tools.
"""

import asyncio
from collections.abc import Sequence
from datetime import datetime, timedelta
from uuid import uuid4

import msgspec

from hansa.foundation.plumbing.outgoing import NamedBy, Outgoing, OutgoingTrouble
from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.storage import clock
from hansa.foundation.plumbing.storage.database import Tx
from hansa.rooms.catalogue.mcp_servers.server_json import MCP
from hansa.rooms.catalogue.pulls.liveness import JSON_RPC, liveness_of, question_to
from hansa.rooms.catalogue.pulls.mcp_probe import probe_server
from hansa.rooms.catalogue.pulls.preview import NOTHING_REMEMBERED
from hansa.rooms.catalogue.pulls.probing import LIMITS
from hansa.rooms.catalogue.pulls.pulling import ask
from hansa.rooms.catalogue.pulls.records import Addresses, Interface, Served, Sign, Unserved
from hansa.rooms.catalogue.signatures import AGENT_KEYS, AgentKey, verify_inbound, verify_jws

from . import store

FIRST_KEY = 1
"""Number of the key with which an agent was created; a token sets later ones."""
RETURN_WITHIN = timedelta(days=1)
"""Time in which a token leads back to an address that the agent left, as a rollback does."""


class _Known(msgspec.Struct, frozen=True):
    """Newest keys of an agent, and the time since which it has left an address; `now` is the time of the database."""

    keys: Sequence[AgentKey]
    left_at: datetime | None
    now: datetime


class Unfit(msgspec.Struct, frozen=True):
    """Reason for which an agent is not moved to an address, in a stable word and a sentence."""

    reason: str
    sentence: str


async def check_address(
    runtime: Runtime, did: str, interface: Interface, *, must_be_signed: bool
) -> Unfit | None:
    """Call the agent at the address of an interface; None where it may move there."""
    # The places of a card are those of any web address, also of an MCP server.
    addresses = Addresses(None, (Interface(interface.url, JSON_RPC, interface.version),))
    allowed = runtime.settings.outgoing_allow_user_hosts
    served = await ask(runtime.outgoing, addresses, NOTHING_REMEMBERED, allowed)
    if isinstance(served, Unserved):
        reason = "internal_host" if served.reason == "internal_host" else "card_not_served"
        return Unfit(reason, served.sentence)
    assert served.document is not None, "nothing was remembered"
    if served.document.get("did") != did:
        return Unfit("another_agent", "The card at the address does not have the DID of the agent in `did`.")
    unsigned = await _unsigned(runtime, did, interface, served) if must_be_signed else None
    return unsigned or await _unanswered(runtime.outgoing, interface, served)


async def _unsigned(runtime: Runtime, did: str, interface: Interface, served: Served) -> Unfit | None:
    known = await runtime.database.query(lambda tx: _known(tx, runtime, did, interface.url))
    assert served.document is not None
    if served.jws is not None:
        verdict = await asyncio.to_thread(verify_jws, *served.jws, known.keys)
    else:
        verdict = await asyncio.to_thread(verify_inbound, served.document, known.keys)
    if verdict.outcome != "verified":
        return Unfit("not_signed", f"The card is not signed by the agent: {verdict.said}.")
    lifetime = timedelta(minutes=runtime.settings.access_token_expire_minutes)
    later = [key for key in known.keys if key.ended_at is None and key.number > FIRST_KEY]
    if any(known.now - key.since <= lifetime for key in later):
        return Unfit("key_too_new", "The agent got its signing key when its present tokens were valid.")
    assert served.card is not None
    stated = {(one["url"], one["protocolBinding"].upper()) for one in served.card["supportedInterfaces"]}
    if (interface.url, interface.binding) not in stated:
        return Unfit(
            "another_address", "The signed card does not state an interface at exactly this address."
        )
    if known.left_at is not None and known.now - known.left_at > RETURN_WITHIN:
        return Unfit(
            "former_address", "The agent left this address more than a day ago; its owner leads back to it."
        )
    return None


async def _known(tx: Tx, runtime: Runtime, did: str, url: str) -> _Known:
    keys = await AGENT_KEYS.of(runtime)(tx, did)
    return _Known(keys, await store.left_at(tx, did, url), await clock.now(tx))


async def _unanswered(outgoing: Outgoing, interface: Interface, served: Served) -> Unfit | None:
    assert served.card is not None
    if interface.binding == MCP:
        sign = (await probe_server(outgoing, interface.url)).sign
    else:
        sign = await _asked(
            outgoing, interface, needs_credentials=bool(served.card.get("securityRequirements"))
        )
    if sign.state == "alive":
        return None
    return Unfit("not_answering", sign.sentence or "The agent answered that it has too many requests.")


async def _asked(outgoing: Outgoing, interface: Interface, *, needs_credentials: bool) -> Sign:
    question = question_to((interface,), str(uuid4()), str(uuid4()))
    if question is None:
        return Sign("unreachable", f"The registry does not speak version {interface.version} of A2A.")
    try:
        answer = await outgoing.post(
            question.url, question.body, named_by=NamedBy.USER, headers=question.headers, limits=LIMITS
        )
    except OutgoingTrouble as error:
        return Sign("unreachable", f"The agent gave no answer: {error.reason}.")
    return liveness_of(question, answer.status, answer.body, needs_credentials=needs_credentials)
