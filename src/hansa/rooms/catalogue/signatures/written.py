"""Cards that owners write. Their credential vouches for them, so a signature is not asked for; one that is there is judged."""

import asyncio
from collections.abc import Mapping
from typing import Any

import structlog

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.errors import Invalid

from .agent_keys import AgentKeys
from .records import SignaturePolicy
from .rules import verify_inbound

_log = structlog.get_logger()


class CardSignatureRefused(Invalid):
    """The card has a signature that its agent did not make, and this registry enforces signatures."""

    code = "CARD_SIGNATURE_REFUSED"


async def require_genuine(
    tx: Tx, did: str | None, document: Mapping[str, Any], keys: AgentKeys, policy: SignaturePolicy
) -> None:
    """Judge the signatures of a card that its owner writes for the agent `did`, or for none.

    Raises: CardSignatureRefused, where the operator enforces signatures.
    """
    if not document.get("signatures"):
        return
    known = () if did is None else await keys(tx, did)
    # A large card takes long enough to be judged that others would notice.
    verdict = await asyncio.to_thread(verify_inbound, document, known)
    if verdict.outcome == "failed":
        _log.warning("submitted card is not signed by its agent", did=did, reason=verdict.said)
        if policy.enforce:
            raise CardSignatureRefused(
                f"The signature is refused: {verdict.said}.", field="card_data.signatures"
            )
