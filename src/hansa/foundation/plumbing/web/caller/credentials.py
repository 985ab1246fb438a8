"""Credentials of a request: headers, their schemes in the API description, and the keys of the scope that hold the caller."""

from fastapi import Request
from fastapi.security import APIKeyHeader, HTTPBearer

from hansa.foundation.values.errors import Unauthorized

# Prefix of the session of a developer who shows an API key; the id of the key follows.
API_KEY_SESSION = "api-key:"

# Key of the scope of a request: the developer or the agent whose credential was accepted.
CALLER = "hansa.caller"
# Key of the scope of a request that a door makes within the process: the developer or the agent that the door accepted.
GIVEN = "hansa.caller.given"
# Key of the scope: the refusal of an API key without the scope that a public route looks for.
LACKING_SCOPE = "hansa.caller.lacking_scope"
# Key of the scope: the agent of an optimistic check once that was read for this request.
CONFIRMED = "hansa.caller.confirmed"

INTERNAL_KEY_HEADER = "X-Internal-Key"
LICENCE_HEADER = "X-Federation-License"
CAPABILITY_HEADER = "X-Capability-Token"

DEVELOPER_SCHEME = HTTPBearer(scheme_name="DeveloperToken", auto_error=False)
AGENT_SCHEME = HTTPBearer(scheme_name="AgentToken", auto_error=False)
PASSWORD_SCHEME = HTTPBearer(scheme_name="PasswordToken", auto_error=False)
INTERNAL_SCHEME = APIKeyHeader(name=INTERNAL_KEY_HEADER, scheme_name="InternalKey", auto_error=False)
METRICS_SCHEME = HTTPBearer(scheme_name="MetricsToken", auto_error=False)
LICENCE_SCHEME = APIKeyHeader(name=LICENCE_HEADER, scheme_name="FederationLicence", auto_error=False)


def bearer_token(request: Request) -> str:
    """The token of `Authorization: Bearer <token>`. Raises: Unauthorized."""
    values = request.headers.getlist("authorization")
    scheme, _, token = values[0].partition(" ") if len(values) == 1 else ("", "", "")
    if scheme.lower() != "bearer" or not token.strip():
        raise Unauthorized
    return token.strip()
