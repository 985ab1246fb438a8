"""Deployments: an agent moves to an address where it was checked, and back."""

from .routes import router
from .verifying import DEPLOYMENT_CHECKS

__all__ = ["DEPLOYMENT_CHECKS", "router"]
