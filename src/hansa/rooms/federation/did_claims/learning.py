"""Answers of the frame that an operator keeps: the holder of each DID that it has met and did not mint."""

from collections.abc import Iterable, Sequence

import msgspec

from hansa.foundation.plumbing.jobs import PutOff
from hansa.foundation.plumbing.outgoing import Answer
from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.values.errors import Unavailable
from hansa.rooms.federation.charter import registry_id_of

from . import store
from .announcing import OK, PATH, post_digests
from .did_holder import digest_of, is_shared
from .schemas import DIGESTS_MAX

RETRY_SECONDS = 5


class FrameUnavailable(Unavailable):
    """The frame of this trust domain does not answer; what depends on its claims waits."""

    code = "FRAME_SILENT"
    sentence = "The frame of this trust domain does not answer which registry has the agent."
    remedy = "Repeat the request after the time in the Retry-After header."


class _Claim(msgspec.Struct):
    digest: str
    registry: str


class _Claims(msgspec.Struct):
    claims: list[_Claim]


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
