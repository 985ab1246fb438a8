"""For services that are paid per call: `PaidService` and its adapters for ASGI, FastAPI, A2A and MCP servers."""

from .admission import Stored, Working
from .issuers import IssuerNotTrusted, read_registries
from .paid_service import PaidService
from .refusals import Outcome, Refused
from .requests import HttpRequest
from .store import StoreUnavailable
from .terms import Facts, Terms

__all__ = [
    "Facts",
    "HttpRequest",
    "IssuerNotTrusted",
    "Outcome",
    "PaidService",
    "Refused",
    "StoreUnavailable",
    "Stored",
    "Terms",
    "Working",
    "read_registries",
]
