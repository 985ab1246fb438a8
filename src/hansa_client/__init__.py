"""Client of a Hansa registry: `Registry` for threads, `AsyncRegistry` for event loops, the same in both."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
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

# A command that prints its help, or a completion, need not wait for the HTTP library.
_MODULES = {
    "AgentCredentials": "credentials",
    "ApiKey": "credentials",
    "AsyncRegistry": "asynchronous",
    "DeveloperTokens": "credentials",
    "HansaError": "errors",
    "OutcomeUnknown": "errors",
    "Refusal": "errors",
    "Registry": "synchronous",
    "RetryPolicy": "retries",
    "Unreachable": "errors",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_MODULES[name]}", __name__), name)
