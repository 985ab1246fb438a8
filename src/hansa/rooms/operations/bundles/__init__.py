"""Bundles: an agent as a signed document, from which another agent can be made."""

from .pipelines import NO_PIPELINES, PIPELINES_OF_BUNDLE, PipelinesOfBundle

__all__ = ["NO_PIPELINES", "PIPELINES_OF_BUNDLE", "PipelinesOfBundle"]
