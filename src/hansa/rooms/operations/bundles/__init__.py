"""Bundles: an agent as a signed document, from which another agent can be made."""

from .pipelines import PIPELINES_OF_BUNDLE, PipelinesOfBundle

__all__ = ["PIPELINES_OF_BUNDLE", "PipelinesOfBundle"]
