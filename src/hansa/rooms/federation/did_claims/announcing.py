"""The operator's side: each new DID is claimed at the frame of the trust domain, by a job that goes on until it answers.

With the frame away agents are created all the same; crossing and export wait for the answer (Specification 6 W 6).
"""

import json
from collections.abc import Sequence

import structlog

from hansa.foundation.plumbing import jobs
from hansa.foundation.plumbing.jobs import Job, LeasedKind, PutOff, Retries
from hansa.foundation.plumbing.outgoing import Answer
from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Tx
from hansa.rooms.federation.operators import ask_frame
from hansa.rooms.federation.peers import call_peer

from . import store
from .did_holder import digest_of, is_shared
from .errors import DidClaimed
from .schemas import DIGESTS_MAX

JOB = "federation: claim DIDs at the frame"
KEY = "own"
PATH = "/api/v1/federation/did-claims"
OK, CONFLICT = 200, 409
RETRIES = Retries(None, pause_seconds=1.0, pause_max_seconds=60.0)

_log = structlog.get_logger()


async def announce_did(tx: Tx, did: str, settings: Settings) -> None:
    """Hold a new DID for this registry: an operator claims it at the frame. Raises: DidClaimed."""
    if not is_shared(did, settings):
        return
    if not await store.announce(tx, digest_of(did), waits=settings.is_operator):
        raise DidClaimed
    if settings.is_operator:
        await jobs.enqueue(tx, JOB, KEY)


async def _claim_waiting(runtime: Runtime, _: Job) -> None:
    """Claim every DID that waits. Raises: PutOff."""
    while digests := await runtime.database.query(lambda tx: store.waiting(tx, DIGESTS_MAX)):
        await claim_at_frame(runtime, digests)


async def claim_at_frame(runtime: Runtime, digests: Sequence[bytes]) -> None:
    """Claim own DIDs and write the frame's answer; where it refuses some, the others stay as they are. Raises: PutOff."""
    answer = await post_digests(runtime, PATH, digests)
    if answer.status == CONFLICT:
        refused = [digest for digest in digests if digest in _refused_in(answer)]
        if not refused:
            raise PutOff("the frame refused claims without naming them")
        _log.error("the frame refused claims of DIDs", count=len(refused))
        await runtime.database.transaction(lambda tx: store.answered(tx, refused, "refused"))
    elif answer.status == OK:
        await runtime.database.transaction(lambda tx: store.answered(tx, digests, "held"))
    else:
        raise PutOff(f"status_{answer.status}")


async def post_digests(runtime: Runtime, path: str, digests: Sequence[bytes]) -> Answer:
    """Post digests to the frame of this trust domain. Never within a transaction. Raises: PutOff."""
    body = {"digests": [digest.hex() for digest in digests]}
    return await ask_frame(runtime, lambda frame: call_peer(runtime, frame, "POST", path, body))


def _refused_in(answer: Answer) -> set[bytes]:
    try:
        return {bytes.fromhex(one) for one in json.loads(answer.body)["error"]["context"]["digests"]}
    except (ValueError, TypeError, LookupError):
        return set()


CLAIM_DIDS = LeasedKind(JOB, _claim_waiting, retries=RETRIES)
