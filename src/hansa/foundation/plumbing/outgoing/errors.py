"""How a call to another host can fail. `reason` is a stable word that may be stored and shown."""

from typing import get_args

from hansa.foundation.values.web_address import Closed


class OutgoingTrouble(Exception):
    """A call that brought no answer. Its text never holds the address, which may hold a secret of its owner."""

    reason: str

    def __init__(self) -> None:
        super().__init__(self.reason)


class AddressRefused(OutgoingTrouble):
    """The address is not one that the registry calls; nothing was sent."""

    def __init__(self, reason: Closed) -> None:
        self.reason = reason
        super().__init__()


class NameUnknown(OutgoingTrouble):
    """The host name resolves to nothing."""

    reason = "name_unknown"


class HostUnreachable(OutgoingTrouble):
    """No connection came about, or it broke."""

    reason = "unreachable"


class CertificateRefused(OutgoingTrouble):
    """The host did not prove its name by TLS."""

    reason = "certificate_refused"


class HostBusy(OutgoingTrouble):
    """Another call to this host went on for too long; nothing was sent."""

    reason = "host_busy"


class OutgoingTimeout(OutgoingTrouble):
    """The whole answer was not there in time."""

    reason = "timeout"


class AnswerTooLarge(OutgoingTrouble):
    """The answer, decompressed, is larger than the caller takes."""

    reason = "answer_too_large"


class AnswerUnreadable(OutgoingTrouble):
    """The answer is not HTTP, or has an encoding that was not requested."""

    reason = "answer_unreadable"


class CircuitOpen(OutgoingTrouble):
    """The last calls to this peer failed; none is made before a pause has gone by. Nothing was sent."""

    reason = "circuit_open"


ERROR_REASONS = (
    *get_args(Closed),
    *(error.reason for error in OutgoingTrouble.__subclasses__() if hasattr(error, "reason")),
)
"""The reason of every error of this module."""
