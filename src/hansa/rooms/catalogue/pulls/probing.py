"""Liveness of an agent: found out by a call to it, or by the heartbeat that it sends.

The newer of the two observations stands: a call that fails after a heartbeat makes the agent unreachable again.
"""

from random import SystemRandom
from time import monotonic
from uuid import uuid4

from msgspec.structs import replace

from hansa.foundation.plumbing.outgoing import (
    AddressRefused,
    CallLimits,
    HostBusy,
    NamedBy,
    Outgoing,
    OutgoingTrouble,
)
from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.telemetry.tracing import tracing
from hansa.foundation.values.web_address import read_web_address
from hansa.rooms.catalogue.availability import add_probe, class_of
from hansa.rooms.catalogue.errors import CardInvalid
from hansa.rooms.catalogue.mcp_servers.server_json import MCP

from . import rules, store
from .liveness import Question, liveness_of, question_to
from .mcp_probe import probe_server
from .queue import PROBE_KIND, WRITING, put_off, visit_again, visit_no_more, visits
from .records import Addresses, Interface, Probed, Sign
from .tool_changes import take_tools
from .visit import Visit

uniform = SystemRandom().random
OK = 200
LIMITS = CallLimits(seconds=10.0, body_bytes=64 * 1024)


async def probe(runtime: Runtime, visit: Visit) -> str:
    """Call one agent; returns the outcome."""
    is_open = visit.status == "active" and visit.is_active
    probed = (
        await call(
            runtime.outgoing,
            visit.addresses,
            needs_credentials=visit.needs_credentials,
            lists_tools=visit.mcp_name is not None,
        )
        if is_open
        else None
    )
    interval = runtime.settings.card_liveness_interval_seconds
    async with WRITING.of(runtime):
        try:
            return await runtime.database.transaction(lambda tx: settle(tx, visit, probed, interval))
        except CardInvalid as error:
            assert probed is not None, "tools are refused that were read"
            sentence = rules.sentence_cut(f"The tools are refused: {error.detail}")
            refused = replace(probed, sign=Sign("alive", sentence), tools=None)
            return await runtime.database.transaction(lambda tx: settle(tx, visit, refused, interval))


async def settle(tx: Tx, visit: Visit, probed: Probed | None, interval_seconds: int) -> str:
    """Write the results of a call, unless the lease was lost. Without any the agent was not called. Raises: CardInvalid."""
    stored = await store.lock(tx, visit)
    if stored is None:
        return "taken_over"
    if visit.status == "revoked":
        await visit_no_more(tx, visit)
        return "left_alone"
    if stored.addresses != visit.addresses:
        await put_off(tx, visit, 0)
        return "moved"
    if probed is None:
        await put_off(tx, visit, rules.LOOK_AGAIN_SECONDS)
        return "not_called"
    sign = probed.sign
    if probed.tools is not None:
        await take_tools(tx, visit.card_id, stored, probed.tools)
    if sign.state is None:
        await put_off(tx, visit, interval_seconds)
        return "no_verdict"
    if visit.did is not None and probed.was_sent:
        await add_probe(tx, visit.did, answer_class(probed))
    failures = visit.failures + 1 if sign.state == "unreachable" else 0
    await store.stamp_liveness(tx, visit.card_id, sign.state)
    planned = await store.end(tx, visit, sign.state, failures=failures, error=sign.sentence, attempted=True)
    pause = rules.drawn(rules.recheck_pause(interval_seconds, failures), uniform())
    await visit_again(tx, visit, planned, pause, failures)
    return sign.state


def answer_class(probed: Probed) -> int:
    """The class of the time of the answer to a probe; 0 without one."""
    return class_of(probed.milliseconds) if probed.sign.state == "alive" else 0


async def note_heartbeat(tx: Tx, did: str) -> None:
    """Mark the card of an own agent as alive now. Repeated within seconds it writes nothing."""
    await store.stamp_heartbeat(tx, did)


async def call(
    outgoing: Outgoing, addresses: Addresses, *, needs_credentials: bool, lists_tools: bool
) -> Probed | None:
    """Call an agent: the A2A interface shows its liveness, or the MCP server where there is no other.

    `lists_tools`: the tools of its MCP server are read as well. None: no interface can be called.
    """
    # A call for a client bears a trace where traces are exported; so does this one.
    trace = tracing.begin_request(None)
    try:
        return await _call(
            outgoing, addresses.interfaces, needs_credentials=needs_credentials, lists_tools=lists_tools
        )
    finally:
        if trace is not None:
            tracing.end_request(trace, "POST", PROBE_KIND, OK)


async def _call(
    outgoing: Outgoing, interfaces: tuple[Interface, ...], *, needs_credentials: bool, lists_tools: bool
) -> Probed | None:
    question = question_to(interfaces, str(uuid4()), str(uuid4()))
    server = next((one.url for one in interfaces if one.binding == MCP and read_web_address(one.url)), None)
    if server is None or (question is not None and not lists_tools):
        return (
            None if question is None else await _ask(outgoing, question, needs_credentials=needs_credentials)
        )
    begun = monotonic()
    probed = await probe_server(outgoing, server)
    if question is None:
        return replace(
            probed, tools=probed.tools if lists_tools else None, milliseconds=(monotonic() - begun) * 1000
        )
    return replace(await _ask(outgoing, question, needs_credentials=needs_credentials), tools=probed.tools)


async def _ask(outgoing: Outgoing, question: Question, *, needs_credentials: bool) -> Probed:
    begun = monotonic()
    try:
        answer = await outgoing.post(
            question.url, question.body, named_by=NamedBy.USER, headers=question.headers, limits=LIMITS
        )
    except OutgoingTrouble as error:
        sign = Sign("unreachable", f"The agent gave no answer: {error.reason}.")
        return Probed(sign, was_sent=not isinstance(error, AddressRefused | HostBusy))
    milliseconds = (monotonic() - begun) * 1000
    sign = liveness_of(question, answer.status, answer.body, needs_credentials=needs_credentials)
    return Probed(sign, milliseconds=milliseconds)


HEALTH_CHECKS = visits(
    PROBE_KIND, "liveness", probe, lambda settings: settings.card_liveness_interval_seconds
)
