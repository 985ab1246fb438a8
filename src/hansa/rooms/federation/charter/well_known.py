"""Public documents about the registry for security researchers and OAuth clients (Specification 2, "Registry card and licence routes").

security.txt (RFC 9116), the metadata of the authorization server (RFC 8414) with the keys of its tokens (RFC 7517), and that
of the API and the MCP endpoint as protected resources (RFC 9728).
"""

from datetime import UTC, datetime, timedelta
from typing import Literal

from fastapi import APIRouter, Depends, Response
from pydantic import Field

from hansa.foundation.plumbing.keys.access_tokens import TYP as ACCESS_TYP
from hansa.foundation.plumbing.keys.access_tokens import resource_of
from hansa.foundation.plumbing.keys.tokens import TokenKind
from hansa.foundation.plumbing.process.runtime import Config, Tokens
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.web.bodies import GuardedRoute
from hansa.foundation.plumbing.web.caller import Public
from hansa.foundation.plumbing.web.limits import within_read_limit
from hansa.foundation.plumbing.web.problem_docs import problems
from hansa.foundation.values.connections import CONNECTION_SCOPES, READING_SCOPES
from hansa.foundation.values.errors import NotFound, TooManyRequests
from hansa.foundation.values.jwk import jwk_of, thumbprint
from hansa.foundation.values.lazy_model import LazyModel

CACHED = "public, max-age=3600"
SECURITY_AT = "/.well-known/security.txt"
TOKEN_KEYS_AT = "/.well-known/dev-jwks.json"  # noqa: S105
SERVER_AT = "/.well-known/oauth-authorization-server"
RESOURCE_AT = "/.well-known/oauth-protected-resource"
MCP_RESOURCE_AT = f"{RESOURCE_AT}/mcp"
ANY_ORIGIN = {"Access-Control-Allow-Origin": "*"}
VALID_DAYS = 180

well_known_router = APIRouter(
    tags=["public"], route_class=GuardedRoute, dependencies=[Depends(within_read_limit)]
)


class SecurityContactMissing(NotFound):
    """The operator has set no SECURITY_CONTACT."""

    code = "SECURITY_CONTACT_MISSING"
    sentence = "The operator of this registry has published no security contact."


class AuthorizationServerOut(LazyModel):
    """Metadata of the authorization server that issues tokens of agents and of connected clients (RFC 8414)."""

    issuer: str
    authorization_endpoint: str
    token_endpoint: str
    revocation_endpoint: str
    registration_endpoint: str
    jwks_uri: str = Field(description="The keys that verify the tokens.")
    scopes_supported: list[str] = Field(examples=[["mcp:read", "wallet:read"]])
    response_types_supported: list[str] = Field(["code"], examples=[["code"]])
    response_modes_supported: list[str] = Field(["query"], examples=[["query"]])
    grant_types_supported: list[str] = Field(
        ["authorization_code", "refresh_token", "client_credentials"],
        examples=[["authorization_code", "refresh_token", "client_credentials"]],
    )
    token_endpoint_auth_methods_supported: list[str] = Field(examples=[["none", "client_secret_post"]])
    revocation_endpoint_auth_methods_supported: list[str] = Field(["none"], examples=[["none"]])
    code_challenge_methods_supported: list[str] = Field(["S256"], examples=[["S256"]])
    client_id_metadata_document_supported: Literal[True] = True
    authorization_response_iss_parameter_supported: Literal[True] = True
    service_documentation: str


class TokenJwk(LazyModel):
    """The public key that verifies one kind of bearer tokens."""

    kty: Literal["OKP"] = "OKP"
    crv: Literal["Ed25519"] = "Ed25519"
    x: str
    kid: str = Field(description="The thumbprint of RFC 7638; stands in the header of each token.")
    use: Literal["sig"] = "sig"
    alg: Literal["EdDSA"] = "EdDSA"
    token_typ: Literal["developer+jwt", "agent+jwt", "at+jwt"] = Field(description="The `typ` of the tokens.")
    token_aud: str = Field(description="The `aud` of the tokens.", examples=["hansa.local/agent"])


class TokenJwks(LazyModel):
    """The keys that verify tokens of developers, agents and connected clients. Whether one was revoked only this registry knows."""

    keys: list[TokenJwk]


class ProtectedResourceOut(LazyModel):
    """Metadata of the API as a resource that bearer tokens open (RFC 9728)."""

    resource: str
    resource_name: str = Field(examples=["hansa"])
    authorization_servers: list[str] = Field(examples=[["https://registry.example.org"]])
    bearer_methods_supported: list[str] = Field(examples=[["header"]])
    resource_documentation: str


class McpResourceOut(ProtectedResourceOut):
    """Metadata of the MCP endpoint as a resource; `scopes_supported` are those that a client asks for first."""

    scopes_supported: list[str] = Field(examples=[["mcp:read", "wallet:read"]])


@well_known_router.get(
    SECURITY_AT,
    response_class=Response,
    responses={
        200: {"content": {"text/plain": {"schema": {"type": "string"}}}},
        **problems(TooManyRequests, SecurityContactMissing),
    },
)
async def read_security_txt(_: Public, settings: Config) -> Response:
    """security.txt: where to report a vulnerability; 404 where the operator has set no SECURITY_CONTACT."""
    text = security_txt(settings, datetime.now(UTC))
    return Response(text, media_type="text/plain; charset=utf-8", headers={"Cache-Control": CACHED})


@well_known_router.get(SERVER_AT, responses=problems(TooManyRequests))
async def read_authorization_server(
    _: Public, settings: Config, response: Response
) -> AuthorizationServerOut:
    """Endpoints at which agents get tokens with their secrets, and clients with the consent of a person."""
    response.headers.update({"Cache-Control": CACHED, **ANY_ORIGIN})
    base = settings.base_url
    return AuthorizationServerOut(
        issuer=base,
        authorization_endpoint=f"{base}/oauth/authorize",
        token_endpoint=f"{base}/oauth/token",
        revocation_endpoint=f"{base}/oauth/revoke",
        registration_endpoint=f"{base}/oauth/register",
        jwks_uri=base + TOKEN_KEYS_AT,
        scopes_supported=list(CONNECTION_SCOPES),
        token_endpoint_auth_methods_supported=["none", "client_secret_post", "client_secret_basic"],
        service_documentation=f"{base}/docs",
    )


@well_known_router.options(SERVER_AT, include_in_schema=False, status_code=204)
@well_known_router.options(RESOURCE_AT, include_in_schema=False, status_code=204)
@well_known_router.options(MCP_RESOURCE_AT, include_in_schema=False, status_code=204)
async def answer_preflight(_: Public) -> Response:
    """Allow pages of every origin to read the metadata with the headers that clients of MCP send."""
    return Response(
        status_code=204,
        headers={
            **ANY_ORIGIN,
            "Access-Control-Allow-Methods": "GET, OPTIONS",
            "Access-Control-Allow-Headers": "MCP-Protocol-Version, Content-Type",
            "Access-Control-Max-Age": "86400",
        },
    )


@well_known_router.get(MCP_RESOURCE_AT, responses=problems(TooManyRequests))
async def read_mcp_resource(_: Public, settings: Config, response: Response) -> McpResourceOut:
    """The MCP endpoint as a resource (RFC 9728), and the authorization server of its clients."""
    response.headers.update({"Cache-Control": CACHED, **ANY_ORIGIN})
    base = settings.base_url
    return McpResourceOut(
        resource=resource_of(base),
        resource_name=settings.registry_name,
        authorization_servers=[base],
        scopes_supported=list(READING_SCOPES),
        bearer_methods_supported=["header"],
        resource_documentation=f"{base}/docs",
    )


@well_known_router.get(TOKEN_KEYS_AT, responses=problems(TooManyRequests))
async def read_token_keys(_: Public, tokens: Tokens, settings: Config, response: Response) -> TokenJwks:
    """The keys that verify the tokens of developers, agents and connected clients (RFC 7517, RFC 9068).

    Services verify the tokens of agents that call them; tokens of clients (`at+jwt`) are for the MCP endpoint of this registry alone.
    """
    response.headers.update({"Cache-Control": CACHED, "Access-Control-Allow-Origin": "*"})
    published = {
        TokenKind.DEVELOPER: ("developer+jwt", f"{settings.trust_domain}/{TokenKind.DEVELOPER}"),
        TokenKind.AGENT: ("agent+jwt", f"{settings.trust_domain}/{TokenKind.AGENT}"),
        TokenKind.ACCESS: (ACCESS_TYP, resource_of(settings.base_url)),
    }
    return TokenJwks(
        keys=[
            TokenJwk(
                x=jwk_of(tokens.public_keys[kind])["x"],
                kid=thumbprint(tokens.public_keys[kind]),
                token_typ=typ,
                token_aud=audience,
            )
            for kind, (typ, audience) in published.items()
        ]
    )


@well_known_router.get(RESOURCE_AT, responses=problems(TooManyRequests))
async def read_protected_resource(_: Public, settings: Config, response: Response) -> ProtectedResourceOut:
    """Which authorization server issues tokens for the API: this registry, or OAUTH_AUTHORIZATION_SERVER_URL."""
    response.headers.update({"Cache-Control": CACHED, **ANY_ORIGIN})
    base = settings.base_url
    return ProtectedResourceOut(
        resource=base,
        resource_name=settings.registry_name,
        authorization_servers=[settings.oauth_authorization_server_url or base],
        bearer_methods_supported=["header"],
        resource_documentation=f"{base}/docs",
    )


def security_txt(settings: Settings, now: datetime) -> str:
    """The text of RFC 9116, which expires 180 days after the day of `now`. Raises: SecurityContactMissing."""
    if settings.security_contact is None:
        raise SecurityContactMissing
    day = now.replace(hour=0, minute=0, second=0, microsecond=0)
    fields = {
        "Contact": settings.security_contact,
        "Expires": (day + timedelta(days=VALID_DAYS)).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "Policy": settings.security_policy_url,
        "Canonical": settings.base_url + SECURITY_AT,
        "Preferred-Languages": "en",
    }
    return "".join(f"{name}: {value}\n" for name, value in fields.items() if value is not None)
