"""Liveness of an agent: found out by a call to it, or by the heartbeat that it sends.

The newer of the two observations stands: a call that fails after a heartbeat makes the agent unreachable again.
"""

from uuid import uuid4

from hansa.foundation.plumbing.outgoing import CallLimits, NamedBy, Outgoing, OutgoingTrouble
from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.web_address import read_web_address
from hansa.rooms.catalogue.errors import CardInvalid
from hansa.rooms.catalogue.mcp_servers.server_json import MCP

from . import rules, store
from .liveness import Question, liveness_of, question_to
from .mcp_probe import probe_server
from .queue import PROBE_KIND, WRITING, put_off, visit_again, visit_no_more, visits
from .records import Probed, Sign
from .tool_changes import take_tools
from .visit import Visit

LIMITS = CallLimits(seconds=10.0, body_bytes=64 * 1024)


async def probe(runtime: Runtime, visit: Visit) -> str:
    """Call one agent; returns the outcome."""
    is_open = visit.status == "active" and visit.is_active
    probed = await _call(runtime.outgoing, visit) if is_open else None
    interval = runtime.settings.card_liveness_interval_seconds
    async with WRITING.of(runtime):
        try:
            return await runtime.database.transaction(lambda tx: settle(tx, visit, probed, interval))
        except CardInvalid as error:
            sentence = rules.sentence_cut(f"The tools are refused: {error.detail}")
            refused = Probed(Sign("alive", sentence))
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
    failures = visit.failures + 1 if sign.state == "unreachable" else 0
    await store.stamp_liveness(tx, visit.card_id, sign.state)
    planned = await store.end(tx, visit, sign.state, failures=failures, error=sign.sentence, attempted=True)
    await visit_again(tx, visit, planned, rules.recheck_pause(interval_seconds, failures), failures)
    return sign.state


async def note_heartbeat(tx: Tx, did: str) -> None:
    """Mark the card of an own agent as alive now. Repeated within seconds it writes nothing."""
    await store.stamp_heartbeat(tx, did)


async def _call(outgoing: Outgoing, visit: Visit) -> Probed | None:
    """Call an agent: the A2A interface shows its liveness, or the MCP server where there is no other; and read an imported server's tools."""
    interfaces = visit.addresses.interfaces
    question = question_to(interfaces, uuid4().hex)
    server = next((one.url for one in interfaces if one.binding == MCP and read_web_address(one.url)), None)
    if server is None or (question is not None and visit.mcp_name is None):
        return None if question is None else Probed(await _ask(outgoing, question, visit))
    probed = await probe_server(outgoing, server)
    tools = probed.tools if visit.mcp_name is not None else None
    return Probed(probed.sign if question is None else await _ask(outgoing, question, visit), tools)


async def _ask(outgoing: Outgoing, question: Question, visit: Visit) -> Sign:
    try:
        answer = await outgoing.post(
            question.url, question.body, named_by=NamedBy.USER, headers=question.headers, limits=LIMITS
        )
    except OutgoingTrouble as error:
        return Sign("unreachable", f"The agent gave no answer: {error.reason}.")
    return liveness_of(question, answer.status, answer.body, needs_credentials=visit.needs_credentials)


HEALTH_CHECKS = visits(
    PROBE_KIND, "liveness", probe, lambda settings: settings.card_liveness_interval_seconds
)
