"""A frame and its operator registries: certificates are renewed over mutual TLS before they end."""

from .frames import own_frame
from .renewing import renew_certificates
from .routes import renewals_router

__all__ = ["own_frame", "renew_certificates", "renewals_router"]
