"""Client of a Hansa registry: `Registry` for threads, `AsyncRegistry` for event loops, the same in both."""

from .asynchronous import AsyncRegistry
from .credentials import AgentCredentials, ApiKey, DeveloperTokens
from .errors import HansaError, OutcomeUnknown, Refusal, Unreachable
from .retries import RetryPolicy
from .synchronous import Registry

__all__ = [
    "AgentCredentials",
    "ApiKey",
    "AsyncRegistry",
    "DeveloperTokens",
    "HansaError",
    "OutcomeUnknown",
    "Refusal",
    "Registry",
    "RetryPolicy",
    "Unreachable",
]
