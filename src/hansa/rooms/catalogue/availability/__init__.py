"""Availability of agents: probes counted by day and hour, and closed days that anybody verifies offline."""

from .closing import CLOSE_DAYS, FORGET_DAYS, close_oldest_day
from .exchange import SEND_STATEMENTS
from .reading import PROVE_IN_LOG, availability_of, measured_days
from .records import Availability, LoggedEntry, LoggedStatements, ProbedDay
from .routes import peer_router, router
from .rules import class_of
from .schemas import AvailabilityOut
from .store import add_probe

__all__ = [
    "CLOSE_DAYS",
    "FORGET_DAYS",
    "PROVE_IN_LOG",
    "SEND_STATEMENTS",
    "Availability",
    "AvailabilityOut",
    "LoggedEntry",
    "LoggedStatements",
    "ProbedDay",
    "add_probe",
    "availability_of",
    "class_of",
    "close_oldest_day",
    "measured_days",
    "peer_router",
    "router",
]
