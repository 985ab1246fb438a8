"""The keys of agents, who stand above the catalogue: supplied at assembly."""

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeAlias

from hansa.foundation.plumbing.database import Tx

from .records import AgentKey

AgentKeys: TypeAlias = Callable[[Tx, str], Awaitable[Sequence[AgentKey]]]
"""The slot: `keys(tx, did)` answers an agent's newest keys, the newest first; none for an unknown DID."""
