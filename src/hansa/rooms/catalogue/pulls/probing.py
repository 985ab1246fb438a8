"""Liveness of an agent: found out by a call to it, or by the heartbeat that it sends.

The newer of the two observations stands: a call that fails after a heartbeat makes the agent unreachable again.
"""

from uuid import uuid4

from hansa.foundation.plumbing.outgoing import CallLimits, NamedBy, Outgoing, OutgoingTrouble
from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.storage.database import Tx

from . import rules, store
from .liveness import liveness_of, question_to
from .queue import PROBE_KIND, WRITING, put_off, visit_again, visits
from .records import Sign
from .visit import Visit

LIMITS = CallLimits(seconds=10.0, body_bytes=64 * 1024)


async def probe(runtime: Runtime, visit: Visit) -> str:
    """Call one agent; returns the outcome."""
    is_open = visit.status == "active" and visit.is_active
    sign = await _call(runtime.outgoing, visit) if is_open else None
    interval = runtime.settings.card_liveness_interval_seconds
    async with WRITING.of(runtime):
        return await runtime.database.transaction(lambda tx: settle(tx, visit, sign, interval))


async def settle(tx: Tx, visit: Visit, sign: Sign | None, interval_seconds: int) -> str:
    """Write the result of a call, unless the lease was lost. Without a sign the agent was not called."""
    stored = await store.lock(tx, visit)
    if stored is None:
        return "taken_over"
    if stored.addresses != visit.addresses:
        await put_off(tx, visit, 0)
        return "moved"
    if sign is None:
        await put_off(tx, visit, rules.LOOK_AGAIN_SECONDS)
        return "not_called"
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


async def _call(outgoing: Outgoing, visit: Visit) -> Sign | None:
    question = question_to(visit.addresses.interfaces, uuid4().hex)
    if question is None:
        return None
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
