"""Bundles: an agent as a signed document, from which another agent can be made."""

from .pipelines import PIPELINES_OF_BUNDLE, PipelinesOfBundle
from .routes import router
from .store import delete_of

__all__ = ["PIPELINES_OF_BUNDLE", "PipelinesOfBundle", "delete_of", "router"]
