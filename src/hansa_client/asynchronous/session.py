"""Login as a transport needs it."""

from typing import Protocol


class AsyncSession(Protocol):
    """A bearer token that is renewed when it ends."""

    async def token(self) -> str:
        """A token that is valid now."""
        ...

    async def renew(self, rejected: str) -> None:
        """Get another token than this one, which the registry did not accept. Raises: Refusal."""
        ...
