"""One interface to both clients, so that a test is written once."""

import asyncio
import inspect
from collections.abc import Awaitable
from typing import Any

from hansa_client import AsyncRegistry, Registry


class Client:
    """A client; each of its methods is awaited, the synchronous ones run in a thread."""

    def __init__(self, registry: AsyncRegistry | Registry) -> None:
        self.unwrapped = registry

    def __getattr__(self, name: str) -> Any:
        return _Awaited(getattr(self.unwrapped, name))

    def treasury(self, organization: str) -> Any:
        """The treasury of an organization, which is no call."""
        return _Awaited(self.unwrapped.treasury(organization))

    async def close(self) -> None:
        registry = self.unwrapped
        if isinstance(registry, AsyncRegistry):
            await registry.aclose()
        else:
            registry.close()


class _Awaited:
    def __init__(self, member: Any) -> None:
        self._member = member

    def __getattr__(self, name: str) -> Any:
        return _Awaited(getattr(self._member, name))

    def __call__(self, *arguments: Any, **options: Any) -> Awaitable[Any]:
        if inspect.iscoroutinefunction(self._member):
            return self._member(*arguments, **options)
        return asyncio.to_thread(self._member, *arguments, **options)
