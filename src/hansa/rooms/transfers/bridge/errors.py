"""Refusals of the bridge."""

from typing import ClassVar

from hansa.foundation.values.errors import (
    BadRequest,
    Conflict,
    Invalid,
    NotFound,
    Refused,
    Unavailable,
)
from hansa.rooms.federation import LicenceRequired, PeerPaused, PeerSuspended
from hansa.rooms.transfers.crossing.errors import PeerRewound, ReceiverIsLocal, ReceiverRegistryUnknown


class BridgeFrameOnly(Unavailable):
    """Only an allow-listed sovereign mainframe has a bridge."""

    code = "BRIDGE_FRAME_ONLY"
    sentence = (
        "This registry is not an allow-listed sovereign mainframe (IS_CENTRAL_REGISTRY, SOVEREIGN_MAINFRAMES);"
        " it has no bridge."
    )
    remedy = "Use POST /api/v1/teg/cross-registry-transfer, or a registry that is a sovereign mainframe."


class SagaUnknown(NotFound):
    """There is no such saga, or the agent is not one of its parties."""

    code = "BRIDGE_SAGA_UNKNOWN"
    sentence = "There is no such saga of the bridge."


class SagaDirection(Conflict):
    """The step is not one of this saga."""

    code = "BRIDGE_SAGA_DIRECTION"
    sentence = "The saga has no such step: mint-wrapped is for a transfer, unlock for a redemption."


class WrappedCurrencyUnknown(NotFound):
    """No units of this name are held here."""

    code = "WRAPPED_CURRENCY_UNKNOWN"
    sentence = "No wrapped units of this name are held at this registry."


class WrappedInsufficient(Refused):
    """The agent holds fewer wrapped units."""

    status: ClassVar[int] = 402
    code = "WRAPPED_INSUFFICIENT"
    sentence = "The agent holds fewer wrapped units than the amount."


class ReceiverNotAtHome(BadRequest):
    """Wrapped units are redeemed at their home only."""

    code = "RECEIVER_NOT_AT_HOME"
    sentence = "Wrapped units are redeemed at their home registry: receiver_did has to be an agent of it."


class AgentHoldsWrapped(Conflict):
    """Wrapped units would be lost with the agent."""

    code = "AGENT_HOLDS_WRAPPED"
    sentence = "The agent holds wrapped units, or a saga of the bridge that it began is not decided."
    remedy = "Redeem the wrapped units at POST /api/v1/bridge/redeem first."


BRIDGE_REFUSALS: tuple[type[Refused], ...] = (
    BridgeFrameOnly,
    Invalid,
    LicenceRequired,
    PeerPaused,
    PeerRewound,
    PeerSuspended,
    ReceiverRegistryUnknown,
)
TRANSFER_REFUSALS: tuple[type[Refused], ...] = (*BRIDGE_REFUSALS, ReceiverIsLocal)
REDEEM_REFUSALS: tuple[type[Refused], ...] = (
    *BRIDGE_REFUSALS,
    ReceiverNotAtHome,
    WrappedCurrencyUnknown,
    WrappedInsufficient,
)
