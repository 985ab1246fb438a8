"""Emission policies: which events are recorded, and which of them folds leave out."""

from .policies import settle_policies
from .routes import router

__all__ = ["router", "settle_policies"]
