"""Refusals of transfers to other registries."""

from hansa.foundation.values.errors import BadRequest, Conflict, Forbidden, NotFound, Refused, Unavailable
from hansa.rooms.federation import (
    AgentBlocked,
    DidNotConfirmed,
    DidRefused,
    FrameUnavailable,
    LicenceRequired,
    PeerPaused,
    PeerSuspended,
)
from hansa.rooms.transfers import pools


class ReceiverRegistryUnknown(NotFound):
    """No active peer speaks for the receiver's DID."""

    code = "RECEIVER_REGISTRY_UNKNOWN"
    sentence = "No active peer of this registry speaks for the receiver's DID."
    remedy = "Check the DID, or ask the administrator of this registry to add the other registry as a peer."


class ReceiverIsLocal(BadRequest):
    """The receiver is an agent of this registry."""

    code = "RECEIVER_IS_LOCAL"
    sentence = "The receiver is an agent of this registry; send the transfer to POST /api/v1/teg/transfer."
    remedy = "Use POST /api/v1/teg/transfer, or POST /api/v1/teg/send for any receiver."


class ReceiverIsForeign(BadRequest):
    """The receiver is an agent of another registry."""

    code = "RECEIVER_IS_FOREIGN"
    sentence = (
        "The receiver is an agent of another registry; send the transfer to"
        " POST /api/v1/teg/cross-registry-transfer."
    )
    remedy = "Use POST /api/v1/teg/cross-registry-transfer, or POST /api/v1/teg/send for any receiver."


class ReceiverUnknown(NotFound):
    """The other registry has no such agent."""

    code = "RECEIVER_UNKNOWN"
    sentence = "The receiver's registry has no such agent."


class PeerLimitReached(Forbidden):
    """The receiver's registry takes no more units from this one for now."""

    code = "PEER_LIMIT"
    sentence = "The receiver's registry accepts no more units from this registry until units have gone back."
    remedy = (
        "Send a smaller amount, or ask the administrator of the receiver's registry to raise net_in_limit."
    )


class PeerRewound(Conflict):
    """One of the two registries was restored from an old state; crossing stops until both agree again."""

    code = "PEER_REWOUND"
    sentence = (
        "Transfers with the receiver's registry are stopped until both registries agree on what was decided."
    )
    remedy = "Retry later; the registries resolve this by themselves once they reach each other."


class CurrencyDiffers(Conflict):
    """The two registries have different currencies, and share no pool of both."""

    code = "CURRENCY_DIFFERS"
    sentence = "The receiver's registry has another currency, and there is no pool to swap it."
    remedy = "GET /api/v1/teg/fx/rates lists the currencies that can be swapped."


class FeeMismatch(Conflict):
    """The receiver's registry asked for another fee than its signed card states."""

    code = "FEE_MISMATCH"
    sentence = "The receiver's registry asked for another fee than its registry card states."
    remedy = "Retry later; this registry fetches the card anew."


class CrossingRefused(Conflict):
    """The receiver's registry refused the transfer; `code` in the context is its reason."""

    code = "CROSSING_REFUSED"
    sentence = "The receiver's registry refused the transfer."


class CrossingUndecided(Unavailable):
    """The receiver's registry did not answer in time; the transfer is aborted and nothing was moved."""

    code = "CROSSING_TIMEOUT"
    sentence = (
        "The receiver's registry did not answer in time; the transfer is aborted and nothing was moved."
    )
    remedy = "Send the request again; it becomes a new transfer."


class TransferUnknown(NotFound):
    """There is no such transfer, or the agent is not one of its parties."""

    code = "TRANSFER_UNKNOWN"
    sentence = "There is no such transfer."


_BY_CODE: dict[str, type[Refused]] = {
    "ACCOUNT_UNKNOWN": ReceiverUnknown,
    "AGENT_BLOCKED": AgentBlocked,
    "LICENCE_REQUIRED": LicenceRequired,
    "PEER_LIMIT": PeerLimitReached,
    "PEER_PAUSED": PeerPaused,
    "PEER_SUSPENDED": PeerSuspended,
    "PEER_REWOUND": PeerRewound,
    "FEE_MISMATCH": FeeMismatch,
    "TIMEOUT": CrossingUndecided,
    **pools.REFUSAL_OF,
}


def refusal_of(code: str, transfer_id: str) -> Refused:
    """Why a transfer was aborted, as the answer to its sender."""
    context = {"transfer_id": transfer_id, "state": "aborted", "code": code}
    kind = _BY_CODE.get(code, CrossingRefused)
    return kind(context=context, retry_after=5 if kind is CrossingUndecided else None)


CROSSING_REFUSALS: tuple[type[Refused], ...] = (
    AgentBlocked,
    CrossingRefused,
    CrossingUndecided,
    CurrencyDiffers,
    DidNotConfirmed,
    DidRefused,
    FeeMismatch,
    FrameUnavailable,
    LicenceRequired,
    PeerLimitReached,
    PeerPaused,
    PeerRewound,
    PeerSuspended,
    ReceiverRegistryUnknown,
    ReceiverUnknown,
    *pools.SWAP_REFUSALS,
    *pools.QUOTE_REFUSALS,
)

PASSING_CODES = frozenset(
    {
        "TIMEOUT",
        DidNotConfirmed.code,
        FrameUnavailable.code,
        PeerLimitReached.code,
        PeerPaused.code,
        PeerRewound.code,
    }
)
"""Why a transfer was refused or aborted, where that concerns the two registries, not the parties, and may pass by itself."""
