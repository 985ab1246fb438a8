"""SQL of facts on the card of an own agent, for a page of its owner."""

from hansa.foundation.plumbing.storage.page_facts import PageFact

_OWN_CARD = "FROM catalogue_card c WHERE c.did = asked.did AND c.source_registry IS NULL"

NAME_ON_CARD = PageFact(f"SELECT c.name {_OWN_CARD} AND NOT c.is_erased")
"""Name of the agent; None where it has no card, or an erased one."""

LIVENESS = PageFact(f"SELECT c.liveness {_OWN_CARD}")

HAS_ANSWERED = PageFact(f"SELECT c.last_alive_at IS NOT NULL {_OWN_CARD}")
"""True once the agent answered a health check or sent a heartbeat."""

IS_HOST_VERIFIED = PageFact(f"SELECT c.host_verified_at IS NOT NULL {_OWN_CARD}")
