"""OAuth server: clients that a person connects, with consent, limits and tokens of their own.

- A grant is a row; each call reads it, and a payment locks it (decision 0227). An access token alone is good for nothing.
- Codes and refresh tokens are stored as SHA-256; their second use ends the grant.
- Registered clients are not stored: their id is their signed metadata.
"""

from .access import access_of, connection_of, has_grant_ended, read_bounds
from .authorizing import (
    Decision,
    LedBack,
    grant_access,
    open_request,
    read_request,
    refused_address,
    seal_request,
)
from .connection_routes import connections_router, shown
from .connections import Changes, change_connection, end_connection, living_connections
from .ending import CONNECTIONS_FOLLOW, CONNECTIONS_OF_AGENTS, end_grants_of, end_past_grants
from .errors import (
    AccessTokenRefused,
    ClientRefused,
    ConnectionsFull,
    ConnectionUnknown,
    ConsentRefused,
    RaiseNeedsPassword,
)
from .records import AuthorizationRequest, Connection, ConnectionRow, Limits
from .routes import oauth_router
from .rules import GRANTS_MAX, redirect_host
from .store import erase, forget_ended

__all__ = [
    "CONNECTIONS_FOLLOW",
    "CONNECTIONS_OF_AGENTS",
    "GRANTS_MAX",
    "AccessTokenRefused",
    "AuthorizationRequest",
    "Changes",
    "ClientRefused",
    "Connection",
    "ConnectionRow",
    "ConnectionUnknown",
    "ConnectionsFull",
    "ConsentRefused",
    "Decision",
    "LedBack",
    "Limits",
    "RaiseNeedsPassword",
    "access_of",
    "change_connection",
    "connection_of",
    "connections_router",
    "end_connection",
    "end_grants_of",
    "end_past_grants",
    "erase",
    "forget_ended",
    "grant_access",
    "has_grant_ended",
    "living_connections",
    "oauth_router",
    "open_request",
    "read_bounds",
    "read_request",
    "redirect_host",
    "refused_address",
    "seal_request",
    "shown",
]
