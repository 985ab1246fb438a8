"""Claims on the DIDs that callers of this process name: those of one moment are read by one statement."""

from collections.abc import Mapping, Sequence

from hansa.foundation.plumbing.process.runtime import Runtime, Slot
from hansa.foundation.plumbing.storage.batch_loader import BatchLoader

from . import store
from .errors import DidNotConfirmed, DidRefused
from .operator_claims import RETRY_SECONDS, digest_of, learn_holders
from .store import Claim


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
