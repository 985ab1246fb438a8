"""Deployments: an agent moves to an address where it was checked, and back."""

from .reading import list_deployments
from .records import DeploymentRequest
from .requesting import preview_deployment
from .routes import router
from .verifying import DEPLOYMENT_CHECKS

__all__ = ["DEPLOYMENT_CHECKS", "DeploymentRequest", "list_deployments", "preview_deployment", "router"]
