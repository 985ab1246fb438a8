"""Emission policies: which events are recorded, and which of them folds leave out."""

from .policies import change_policy, list_policies, settle_policies
from .routes import router
from .rules import Policy

__all__ = ["Policy", "change_policy", "list_policies", "router", "settle_policies"]
