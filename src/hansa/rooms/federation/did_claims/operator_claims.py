"""The operator's side: each new DID is claimed at the frame of the trust domain, by a job that goes on until it answers.

With the frame away agents are created all the same; crossing and export wait for the answer (Specification 6 W 6).

Check that the frame still has the claims of this operator registry: one that was restored from a backup lacks the newest.

The newest claims are looked up at the frame; while some are lacking, these are made again and the ones before them looked up.

Registry of this trust domain that has a DID, by the claims that are known here (Specification 6 W 6).

Registries of one trust domain share the namespace of their DIDs. A DID of that namespace is this registry's own unless it is
known that another one holds it.

Answers of the frame that an operator keeps: the holder of each DID that it has met and did not mint.

Claims on the DIDs that callers of this process name: those of one moment are read by one statement.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256

import msgspec
import structlog

from hansa.foundation.plumbing import jobs
from hansa.foundation.plumbing.jobs import Job, LeasedKind, PutOff, Retries
from hansa.foundation.plumbing.outgoing import Answer
from hansa.foundation.plumbing.process.runtime import Runtime, Slot
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage import clock
from hansa.foundation.plumbing.storage.batch_loader import BatchLoader
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.did import namespace_of
from hansa.foundation.values.errors import Unavailable
from hansa.rooms.federation.charter import registry_id_of
from hansa.rooms.federation.operators import ask_frame
from hansa.rooms.federation.peers import PeerRecord, call_peer

from . import store
from .errors import DidClaimed, DidNotConfirmed, DidRefused
from .schemas import DIGESTS_MAX
from .store import Claim, LocalDid

JOB = "federation: claim DIDs at the frame"
KEY = "own"
PATH = "/api/v1/federation/did-claims"
OK, CONFLICT = 200, 409
RETRIES = Retries(None, pause_seconds=1.0, pause_max_seconds=60.0)
_log = structlog.get_logger()
EVERY_SECONDS = 600.0
LAST_DIGEST = b"\xff" * 32
RETRY_SECONDS = 5


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


async def confirm_claims(runtime: Runtime) -> int:
    """Claim again the DIDs that the frame lacks; return how many those were. Raises: PutOff."""
    place = LocalDid(await runtime.database.query(clock.now), LAST_DIGEST)
    count = 0
    while page := await _before(runtime, place):
        lacking = await _lacking(runtime, [one.digest for one in page])
        if not lacking:
            break
        await claim_at_frame(runtime, lacking)
        count += len(lacking)
        place = page[-1]
    return count


async def _before(runtime: Runtime, place: LocalDid) -> list[LocalDid]:
    return await runtime.database.query(lambda tx: store.own_before(tx, place, DIGESTS_MAX))


async def _lacking(runtime: Runtime, digests: Sequence[bytes]) -> list[bytes]:
    answer = await post_digests(runtime, f"{PATH}/lookup", digests)
    known = claims_in(answer, digests)
    if known is None:
        raise PutOff(f"status_{answer.status}")
    held = {digest for digest, _ in known}
    return [digest for digest in digests if digest not in held]


async def _work(runtime: Runtime, _: Job) -> None:
    await confirm_claims(runtime)


class _Claim(msgspec.Struct):
    digest: str
    registry: str


class _Claims(msgspec.Struct):
    claims: list[_Claim]


def claims_in(answer: Answer, digests: Sequence[bytes]) -> list[tuple[bytes, str]] | None:
    """The claims that the frame stated of these digests; None where the answer is none."""
    try:
        declared = msgspec.json.decode(answer.body, type=_Claims).claims if answer.status == OK else None
    except msgspec.DecodeError:
        return None
    if declared is None:
        return None
    holders = {one.digest: one.registry for one in declared}
    return [(digest, holders[digest.hex()]) for digest in digests if digest.hex() in holders]


CONFIRM_CLAIMS = LeasedKind(
    "federation: claims of DIDs at the frame are whole",
    _work,
    retries=Retries(None, pause_seconds=EVERY_SECONDS, pause_max_seconds=EVERY_SECONDS),
    every_seconds=EVERY_SECONDS,
    is_enabled=lambda settings: settings.is_operator,
)


def digest_of(did: str) -> bytes:
    """Return the digest that names a DID in claims: its SHA-256."""
    return sha256(did.encode()).digest()


def is_shared(did: str, settings: Settings) -> bool:
    """Return whether the DID has the namespace of this registry's trust domain, in which other registries may mint as well."""
    return bool(settings.issuer) and namespace_of(did) == settings.issuer


async def held_elsewhere(tx: Tx, dids: Iterable[str]) -> Mapping[str, str | None]:
    """Return those of the DIDs that another registry of this trust domain holds, with its SPIFFE id.

    None stands for a registry that is not known: the frame refused the claim of this one.
    """
    digests = {digest_of(did): did for did in dids}
    found = await store.elsewhere(tx, sorted(digests)) if digests else {}
    return {digests[digest]: holder for digest, holder in found.items()}


async def is_own_did(tx: Tx, did: str, settings: Settings) -> bool:
    """Return whether the DID is one of this registry: of its namespace, and held by no other registry of its trust domain."""
    return is_shared(did, settings) and not await held_elsewhere(tx, [did])


async def speaks_for(tx: Tx, peer: PeerRecord, did: str, settings: Settings) -> bool:
    """Return whether the peer may make statements on the agent: it proved the namespace, inside the own trust domain the DID."""
    if is_shared(did, settings):
        return (await held_elsewhere(tx, [did])).get(did) == peer.spiffe_id
    return namespace_of(did) is not None and namespace_of(did) == peer.did_namespace


async def require_confirmed(tx: Tx, dids: Sequence[str], settings: Settings) -> None:
    """Require that the frame has confirmed the DIDs of an order that leaves this registry. Raises: DidNotConfirmed, DidRefused."""
    if not settings.is_operator:
        return
    states = await store.own_not_held(tx, [digest_of(did) for did in dids])
    if "refused" in states.values():
        raise DidRefused
    if states:
        raise DidNotConfirmed(retry_after=RETRY_SECONDS)


async def unconfirmed(tx: Tx, dids: Sequence[str]) -> Mapping[str, str]:
    """Return those of these own DIDs that the frame has not confirmed: `waiting` or `refused`."""
    digests = {digest_of(did): did for did in dids}
    found = await store.own_not_held(tx, sorted(digests))
    return {digests[digest]: state for digest, state in found.items()}


class FrameUnavailable(Unavailable):
    """The frame of this trust domain does not answer; what depends on its claims waits."""

    code = "FRAME_SILENT"
    sentence = "The frame of this trust domain does not answer which registry has the agent."
    remedy = "Repeat the request after the time in the Retry-After header."


async def learn_holders(runtime: Runtime, dids: Iterable[str]) -> None:
    """Ask the frame about DIDs of the own namespace that are not known here. Never within a transaction.

    A frame sends no request: every claim is made there. Raises: FrameUnavailable.
    """
    settings = runtime.settings
    if not settings.is_operator:
        return
    digests = sorted({digest_of(did) for did in dids if is_shared(did, settings)})
    if not digests:
        return
    known = await runtime.database.query(lambda tx: store.known(tx, digests))
    unknown = [digest for digest in digests if digest not in known]
    for start in range(0, len(unknown), DIGESTS_MAX):
        await _ask(runtime, unknown[start : start + DIGESTS_MAX])


async def _ask(runtime: Runtime, digests: Sequence[bytes]) -> None:
    try:
        answer = await post_digests(runtime, f"{PATH}/lookup", digests)
    except PutOff:
        raise FrameUnavailable(retry_after=RETRY_SECONDS) from None
    declared = claims_in(answer, digests)
    if declared is None:
        raise FrameUnavailable(retry_after=RETRY_SECONDS)
    own = registry_id_of(runtime.settings.trust_domain, runtime.settings.registry_name)
    found = [(digest, holder) for digest, holder in declared if holder != own]
    if found:
        await runtime.database.transaction(lambda tx: store.learn(tx, found))


def _claims_by_digest(runtime: Runtime) -> BatchLoader[bytes, Claim]:
    async def load(digests: Sequence[bytes]) -> Mapping[bytes, Claim]:
        return await runtime.database.query(lambda tx: store.claims(tx, digests))

    return BatchLoader(load)


NAMED_CLAIMS: Slot[BatchLoader[bytes, Claim]] = Slot(
    "federation: claims of the DIDs that callers name", build=_claims_by_digest
)


async def is_held_elsewhere(runtime: Runtime, did: str) -> bool:
    """Return whether another registry of this trust domain holds the DID; an operator asks its frame about one that is not known here.

    Never within a transaction. Raises: FrameUnavailable, Unavailable.
    """
    claim = await _claim_of(runtime, did)
    if claim is None and runtime.settings.is_operator:
        await learn_holders(runtime, [did])
        claim = await _claim_of(runtime, did)
    return claim is not None and (claim.holder is not None or claim.state == "refused")


async def require_own_confirmed(runtime: Runtime, did: str) -> None:
    """Require that the frame has confirmed one own DID. Raises: DidNotConfirmed, DidRefused, Unavailable. See `require_confirmed`."""
    if not runtime.settings.is_operator:
        return
    claim = await _claim_of(runtime, did)
    if claim is None or claim.holder is not None or claim.state == "held":
        return
    if claim.state == "refused":
        raise DidRefused
    raise DidNotConfirmed(retry_after=RETRY_SECONDS)


async def _claim_of(runtime: Runtime, did: str) -> Claim | None:
    return await NAMED_CLAIMS.of(runtime).find(digest_of(did))
