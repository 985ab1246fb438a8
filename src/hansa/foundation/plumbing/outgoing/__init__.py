"""Calls to other hosts: the only place of the registry that speaks HTTP to the outside."""

from .calls import Answer, Call, CallLimits, NamedBy, Outgoing
from .errors import (
    AddressRefused,
    AnswerTooLarge,
    AnswerUnreadable,
    CertificateRefused,
    CircuitOpen,
    HostBusy,
    HostUnreachable,
    NameUnknown,
    OutgoingTimeout,
    OutgoingTrouble,
)
from .mutual_tls import MutualCalls, MutualEnd, show_certificate

__all__ = [
    "AddressRefused",
    "Answer",
    "AnswerTooLarge",
    "AnswerUnreadable",
    "Call",
    "CallLimits",
    "CertificateRefused",
    "CircuitOpen",
    "HostBusy",
    "HostUnreachable",
    "MutualCalls",
    "MutualEnd",
    "NameUnknown",
    "NamedBy",
    "Outgoing",
    "OutgoingTimeout",
    "OutgoingTrouble",
    "show_certificate",
]
