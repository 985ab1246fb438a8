"""A frame and its operator registries: certificates are renewed over mutual TLS before they end, and a removal is followed."""

from .frames import OPERATOR_ROSTER, ask_frame, read_at_frame, renew_certificates
from .routes import renewals_router

__all__ = [
    "OPERATOR_ROSTER",
    "ask_frame",
    "read_at_frame",
    "renew_certificates",
    "renewals_router",
]
