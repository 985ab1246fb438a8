"""Whether an agent is alive: a call to it tells, and so does the heartbeat that it sends.

The newer of the two observations stands: a call that fails after a heartbeat makes the agent unreachable again.
"""

import asyncio
from uuid import uuid4

from hansa.foundation.plumbing.database import Tx
from hansa.foundation.plumbing.outgoing import CallLimits, Outgoing, OutgoingTrouble
from hansa.foundation.plumbing.runtime import Runtime

from . import rules, store
from .fetch import make_visits
from .liveness import liveness_of, question_to
from .records import Sign, Visit

LIMITS = CallLimits(seconds=10.0, body_bytes=64 * 1024)


async def probe_due(runtime: Runtime) -> int:
    """Call every agent whose turn it is; returns how many visits were made for it."""
    if not runtime.settings.card_liveness_interval_seconds:
        return 0
    return await make_visits(runtime, "liveness", probe)


async def probe(runtime: Runtime, visit: Visit, writing: asyncio.Semaphore) -> str:
    """Call one agent; returns in a word what that told."""
    is_open = visit.status == "active" and visit.is_active
    sign = await _call(runtime.outgoing, visit) if is_open else None
    interval = runtime.settings.card_liveness_interval_seconds
    async with writing:
        return await runtime.database.act(lambda tx: settle(tx, visit, sign, interval))


async def settle(tx: Tx, visit: Visit, sign: Sign | None, interval_seconds: int) -> str:
    """Write what a call told, unless another process has taken the visit over. Without a sign nobody was called."""
    standing = await store.lock(tx, visit)
    if standing is None:
        return "taken_over"
    if standing.addresses != visit.addresses:
        await store.put_off(tx, visit, 0)
        return "moved"
    if sign is None:
        await store.put_off(tx, visit, rules.LOOK_AGAIN_SECONDS)
        return "not_called"
    if sign.state is None:
        await store.put_off(tx, visit, interval_seconds)
        return "no_verdict"
    failures = visit.failures + 1 if sign.state == "unreachable" else 0
    await store.stamp_liveness(tx, visit.card_id, sign.state)
    await store.end(
        tx,
        visit,
        sign.state,
        pause=rules.recheck_pause(interval_seconds, failures),
        failures=failures,
        trouble=sign.sentence,
        attempted=True,
    )
    return sign.state


async def note_heartbeat(tx: Tx, did: str) -> None:
    """Mark the card of an own agent as alive now. Repeated within seconds it writes nothing."""
    await store.stamp_heartbeat(tx, did)


async def _call(outgoing: Outgoing, visit: Visit) -> Sign | None:
    question = question_to(visit.addresses.interfaces, uuid4().hex)
    if question is None:
        return None
    try:
        answer = await outgoing.post(question.url, question.body, headers=question.headers, limits=LIMITS)
    except OutgoingTrouble as trouble:
        return Sign("unreachable", f"The agent gave no answer: {trouble.reason}.")
    return liveness_of(question, answer.status, answer.body, needs_credentials=visit.needs_credentials)
