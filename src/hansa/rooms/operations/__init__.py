"""Operations: what owners watch of their agents, beginning with logs; bundles of agents."""

from hansa.rooms.operations.bundles import PIPELINES_OF_BUNDLE, PipelinesOfBundle
from hansa.rooms.operations.descriptor import ROOM

__all__ = ["PIPELINES_OF_BUNDLE", "ROOM", "PipelinesOfBundle"]
