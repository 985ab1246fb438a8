# Generated from hansa_client/asynchronous/session.py by `python -m tests.house.synchronous`.
"""Login as a transport needs it."""

from typing import Protocol


class Session(Protocol):
    """A bearer token that is renewed when it ends."""

    def token(self) -> str:
        """A token that is valid now."""
        ...

    def renew(self, rejected: str) -> None:
        """Get another token than this one, which the registry did not accept. Raises: Refusal."""
        ...
