"""The keys of agents, a room above the catalogue: a slot that it fills."""

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeAlias

from hansa.foundation.plumbing.process.runtime import Slot
from hansa.foundation.plumbing.storage.database import Tx

from .records import AgentKey

AgentKeys: TypeAlias = Callable[[Tx, str], Awaitable[Sequence[AgentKey]]]
"""`keys(tx, did)` answers an agent's newest keys, the newest first; none for an unknown DID."""

AGENT_KEYS: Slot[AgentKeys] = Slot("catalogue: keys of agents")
