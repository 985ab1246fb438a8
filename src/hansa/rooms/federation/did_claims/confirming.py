"""Check that the frame still has the claims of this operator registry: one that was restored from a backup lacks the newest.

The newest claims are looked up at the frame; while some are lacking, these are made again and the ones before them looked up.
"""

from collections.abc import Sequence

from hansa.foundation.plumbing.jobs import Job, LeasedKind, PutOff, Retries
from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.storage import clock

from . import store
from .announcing import PATH, claim_at_frame, post_digests
from .learning import claims_in
from .schemas import DIGESTS_MAX
from .store import LocalDid

EVERY_SECONDS = 600.0
LAST_DIGEST = b"\xff" * 32


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


CONFIRM_CLAIMS = LeasedKind(
    "federation: claims of DIDs at the frame are whole",
    _work,
    retries=Retries(None, pause_seconds=EVERY_SECONDS, pause_max_seconds=EVERY_SECONDS),
    every_seconds=EVERY_SECONDS,
    is_enabled=lambda settings: settings.is_operator,
)
