"""Public documents about the registry for security researchers and OAuth clients (Specification 2, "Registry card and licence routes").

security.txt (RFC 9116), the metadata of the token endpoint of agents (RFC 8414) with the keys of its tokens (RFC 7517), and
that of the API as a protected resource (RFC 9728).
"""

from datetime import UTC, datetime, timedelta
from typing import Literal

from fastapi import APIRouter, Depends, Response
from pydantic import Field

from hansa.foundation.plumbing.keys.tokens import TokenKind
from hansa.foundation.plumbing.process.runtime import Config, Tokens
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.web.bodies import GuardedRoute
from hansa.foundation.plumbing.web.caller import Public
from hansa.foundation.plumbing.web.limits import within_read_limit
from hansa.foundation.plumbing.web.problem_docs import problems
from hansa.foundation.values.errors import NotFound, TooManyRequests
from hansa.foundation.values.jwk import jwk_of, thumbprint
from hansa.foundation.values.lazy_model import LazyModel

CACHED = "public, max-age=3600"
SECURITY_AT = "/.well-known/security.txt"
TOKEN_KEYS_AT = "/.well-known/dev-jwks.json"  # noqa: S105
TOKEN_AT = "/api/v1/auth/agent/token"  # noqa: S105
VALID_DAYS = 180

well_known_router = APIRouter(
    tags=["public"], route_class=GuardedRoute, dependencies=[Depends(within_read_limit)]
)


class SecurityContactMissing(NotFound):
    """The operator has set no SECURITY_CONTACT."""

    code = "SECURITY_CONTACT_MISSING"
    sentence = "The operator of this registry has published no security contact."


class AuthorizationServerOut(LazyModel):
    """Metadata of the authorization server that issues tokens of agents (RFC 8414)."""

    issuer: str
    token_endpoint: str
    jwks_uri: str = Field(description="The keys that verify the tokens.")
    response_types_supported: list[str] = Field(
        description="Empty: there is no authorization endpoint.", examples=[[]]
    )
    grant_types_supported: list[str] = Field(examples=[["client_credentials", "password"]])
    token_endpoint_auth_methods_supported: list[str] = Field(examples=[["client_secret_post"]])
    service_documentation: str


class TokenJwk(LazyModel):
    """The public key that verifies one kind of bearer tokens."""

    kty: Literal["OKP"] = "OKP"
    crv: Literal["Ed25519"] = "Ed25519"
    x: str
    kid: str = Field(description="The thumbprint of RFC 7638; stands in the header of each token.")
    use: Literal["sig"] = "sig"
    alg: Literal["EdDSA"] = "EdDSA"
    token_typ: Literal["developer+jwt", "agent+jwt"] = Field(description="The `typ` of the tokens.")
    token_aud: str = Field(description="The `aud` of the tokens.", examples=["hansa.local/agent"])


class TokenJwks(LazyModel):
    """The keys that verify tokens of developers and agents. Whether a token was revoked only this registry knows."""

    keys: list[TokenJwk]


class ProtectedResourceOut(LazyModel):
    """Metadata of the API as a resource that bearer tokens open (RFC 9728)."""

    resource: str
    resource_name: str = Field(examples=["hansa"])
    authorization_servers: list[str] = Field(examples=[["https://registry.example.org"]])
    bearer_methods_supported: list[str] = Field(examples=[["header"]])
    resource_documentation: str


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


@well_known_router.get("/.well-known/oauth-authorization-server", responses=problems(TooManyRequests))
async def read_authorization_server(
    _: Public, settings: Config, response: Response
) -> AuthorizationServerOut:
    """Where agents get tokens with their client id and secret."""
    response.headers["Cache-Control"] = CACHED
    base = settings.base_url
    return AuthorizationServerOut(
        issuer=base,
        token_endpoint=base + TOKEN_AT,
        jwks_uri=base + TOKEN_KEYS_AT,
        response_types_supported=[],
        grant_types_supported=["client_credentials", "password"],
        token_endpoint_auth_methods_supported=["client_secret_post"],
        service_documentation=f"{base}/docs",
    )


@well_known_router.get(TOKEN_KEYS_AT, responses=problems(TooManyRequests))
async def read_token_keys(_: Public, tokens: Tokens, settings: Config, response: Response) -> TokenJwks:
    """The keys that verify the tokens of developers and agents (RFC 7517), for services to which agents present them."""
    response.headers.update({"Cache-Control": CACHED, "Access-Control-Allow-Origin": "*"})
    keys = {kind: tokens.public_keys[kind] for kind in (TokenKind.DEVELOPER, TokenKind.AGENT)}
    return TokenJwks(
        keys=[
            TokenJwk(
                x=jwk_of(key)["x"],
                kid=thumbprint(key),
                token_typ=f"{kind.value}+jwt",
                token_aud=f"{settings.trust_domain}/{kind}",
            )
            for kind, key in keys.items()
        ]
    )


@well_known_router.get("/.well-known/oauth-protected-resource", responses=problems(TooManyRequests))
async def read_protected_resource(_: Public, settings: Config, response: Response) -> ProtectedResourceOut:
    """Which authorization server issues tokens for the API: this registry, or OAUTH_AUTHORIZATION_SERVER_URL."""
    response.headers["Cache-Control"] = CACHED
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
