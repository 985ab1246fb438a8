"""Proof of a namespace: the domain of an imported MCP server states, in a TXT record or a file of its own, that a card is its owner's.

- A proof that is found holds for a day; then the domain is asked again.
- A domain that answers without the proof, or does not exist, ends it. One that gives no answer ends it after a week.
- The domain itself is asked: a redirect of its file leads nowhere.
"""

from hansa.foundation.plumbing.outgoing import (
    CallLimits,
    HostBusy,
    HostUnreachable,
    NamedBy,
    Outgoing,
    OutgoingTimeout,
    OutgoingTrouble,
)
from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.storage.database import Tx
from hansa.rooms.catalogue.mcp_servers.server_json import MCP
from hansa.rooms.catalogue.namespaces import Proof, proof_of, why_unprovable

from . import rules, store
from .pulling import OK
from .queue import PROOF_KIND, WRITING, put_off, visit_again, visit_no_more, visits
from .records import Found
from .visit import Visit

LIMITS = CallLimits(seconds=10.0, body_bytes=16 * 1024)
SERVER_ERROR = 500
UNANSWERED_MAX = 7
"""Days without an answer after which a proof no longer holds."""


async def prove(runtime: Runtime, visit: Visit) -> str:
    """Look for the proof of one card; returns the outcome."""
    is_open = visit.status == "active" and visit.is_active
    found = await _look(runtime.outgoing, visit) if is_open else None
    async with WRITING.of(runtime):
        return await runtime.database.transaction(lambda tx: settle(tx, visit, found))


async def settle(tx: Tx, visit: Visit, found: Found | None) -> str:
    """Write what was found, unless the lease was lost; None: the domain was not asked."""
    stored = await store.lock(tx, visit)
    if stored is None:
        return "taken_over"
    if visit.status == "revoked":
        await visit_no_more(tx, visit)
        return "left_alone"
    if stored.addresses != visit.addresses:
        await put_off(tx, visit, 0)
        return "moved"
    if found is None:
        await put_off(tx, visit, rules.LOOK_AGAIN_SECONDS)
        return "not_called"
    failures = 0 if found.state == "verified" else visit.failures + 1
    if found.state != "unanswered" or failures >= UNANSWERED_MAX:
        await store.stamp_namespace(tx, visit.card_id, is_verified=found.state == "verified")
    planned = await store.end(
        tx, visit, found.state, failures=failures, error=found.sentence, attempted=found.was_asked
    )
    await visit_again(tx, visit, planned, _pause(found, failures), failures)
    return found.state


def _pause(found: Found, failures: int) -> int:
    """Seconds until the domain is asked again: an owner who has just written the proof does not wait for a day."""
    return (
        rules.DAY_SECONDS
        if found.state == "unanswered"
        else rules.recheck_pause(rules.DAY_SECONDS, failures, rules.DAY_SECONDS)
    )


async def _look(outgoing: Outgoing, visit: Visit) -> Found:
    assert visit.mcp_name is not None, "imported servers alone have this errand"
    proof = proof_of(visit.uuid, visit.mcp_name, visit.trust_domain)
    urls = [one.url for one in visit.addresses.interfaces if one.binding == MCP]
    if sentence := why_unprovable(proof.domain, urls):
        return Found("unprovable", sentence, was_asked=False)
    troubles: list[str] = []
    for lookup in (_in_records, _in_file):
        try:
            if await lookup(outgoing, proof):
                return Found("verified")
        except (HostUnreachable, HostBusy, OutgoingTimeout) as error:
            troubles.append(error.reason)
        except OutgoingTrouble:
            # The name does not exist, or whatever stands there is not the file.
            continue
    if troubles:
        return Found("unanswered", f"The domain gave no answer: {', '.join(troubles)}.")
    return Found("absent", "Neither a TXT record nor the file of the domain has the proof of this card.")


async def _in_records(outgoing: Outgoing, proof: Proof) -> bool:
    return proof.is_in(await outgoing.texts(proof.domain))


async def _in_file(outgoing: Outgoing, proof: Proof) -> bool:
    answer = await outgoing.get(proof.url, named_by=NamedBy.USER, limits=LIMITS)
    if answer.status >= SERVER_ERROR:
        raise HostUnreachable
    return answer.status == OK and proof.is_in(answer.body.decode("utf-8", "replace").splitlines())


NAMESPACE_PROOFS = visits(PROOF_KIND, "namespace", prove, lambda _: rules.DAY_SECONDS)
