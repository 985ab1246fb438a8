"""Bundles: an agent as a signed document, from which another agent can be made."""

from .account_end import ACCOUNT_END_OF_BUNDLES
from .pipelines import PIPELINES_OF_BUNDLE, PipelinesOfBundle
from .routes import router

__all__ = ["ACCOUNT_END_OF_BUNDLES", "PIPELINES_OF_BUNDLE", "PipelinesOfBundle", "router"]
