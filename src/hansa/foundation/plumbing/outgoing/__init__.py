"""Calls to other hosts: the only place of the registry that speaks HTTP to the outside."""

from .calls import Answer, CallLimits, Outgoing
from .errors import (
    AddressRefused,
    AnswerTooLarge,
    AnswerUnreadable,
    CertificateRefused,
    HostBusy,
    HostUnreachable,
    NameUnknown,
    OutgoingTimeout,
    OutgoingTrouble,
)

__all__ = [
    "AddressRefused",
    "Answer",
    "AnswerTooLarge",
    "AnswerUnreadable",
    "CallLimits",
    "CertificateRefused",
    "HostBusy",
    "HostUnreachable",
    "NameUnknown",
    "Outgoing",
    "OutgoingTimeout",
    "OutgoingTrouble",
]
