"""Deployments: an agent moves to an address where it was checked, and back."""

from .reading import list_deployments
from .routes import router
from .verifying import DEPLOYMENT_CHECKS

__all__ = ["DEPLOYMENT_CHECKS", "list_deployments", "router"]
