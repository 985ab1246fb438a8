"""Names of uses. A use_id is `<store id>.<random>`; a store id begins with a mark of the agent.

A verdict names the first use of a token. By the mark a store recognises a use by this agent's kit that it has no
entry of, after it was lost or beside another store, and does not work for it again.
"""

import hashlib
import secrets
from dataclasses import dataclass

MARK_LENGTH = 16


@dataclass(frozen=True)
class UseIds:
    """The uses of one agent, by one store."""

    agent_did: str
    store_id: str

    @property
    def mark(self) -> str:
        """Beginning of every use of this agent's kit."""
        return hashlib.sha256(b"hansa paid service:" + self.agent_did.encode()).hexdigest()[:MARK_LENGTH]

    def new(self) -> str:
        """A use that was never named before."""
        return f"{self.mark}-{self.store_id}.{secrets.token_hex(16)}"

    def is_own(self, use_id: str | None) -> bool:
        """Return whether a use is by this agent's kit, through this store or another."""
        return use_id is not None and use_id.startswith(self.mark + "-")
