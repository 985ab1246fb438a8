"""Find agents by words: every word must be in the name, the tags, the skills or the description."""

from hansa.foundation.plumbing.database import Tx

from . import rules, store
from .records import Found


async def discover_agents(tx: Tx, query: str, limit: int) -> tuple[list[Found], int]:
    """The best cards for the query and how many there are. Raises: QueryInvalid."""
    words = rules.words_of(query)
    patterns = [rules.like_pattern(word) for word in words]
    return await store.discover(tx, rules.folded(query).strip(), patterns, limit)
