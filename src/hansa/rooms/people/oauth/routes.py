"""HTTP doors of the OAuth server: tokens, revocation, registration of clients."""

from datetime import timedelta
from typing import Annotated

from fastapi import APIRouter, Depends, Form, Request

from hansa.foundation.plumbing.keys.access_tokens import (
    LIFETIME,
    AccessClaims,
    issue_access,
    resource_of,
    scope_text,
)
from hansa.foundation.plumbing.keys.tokens import TokenKind
from hansa.foundation.plumbing.process.runtime import Config, Db, Tokens, runtime_of
from hansa.foundation.plumbing.web.caller import Public, sign_in_agent
from hansa.foundation.plumbing.web.limits import Limit, admit, client_address, within_read_limit
from hansa.foundation.values.connections import CONNECTION_SCOPES
from hansa.foundation.values.errors import Forbidden, Unauthorized

from . import rules, tokens
from .clients import register_client
from .errors import OAuthFault
from .protocol import OAuthRoute, add_preflight, basic_credentials
from .schemas import (
    ClientIn,
    OAuthErrorOut,
    OAuthTokenForm,
    OAuthTokenOut,
    RegisteredClientOut,
    RevocationForm,
    RevokedOut,
)

SECRETS_PER_ADDRESS = Limit("agent-token", 60)
"""Shared with `POST /auth/agent/token`: a secret cannot be guessed twice as often by using both. Codes and refresh tokens are not held to
it: one address may refresh the connections of many persons.
"""

FAULTS: dict[int | str, dict[str, object]] = {
    400: {"model": OAuthErrorOut, "description": "The request is refused."},
    401: {"model": OAuthErrorOut, "description": "The client did not prove itself."},
    429: {"model": OAuthErrorOut, "description": "Too many requests."},
}

oauth_router = APIRouter(prefix="/oauth", tags=["OAuth"], route_class=OAuthRoute)
add_preflight(oauth_router, "/token", "/revoke", "/register")


@oauth_router.post(
    "/token",
    operation_id="issue_oauth_token",
    dependencies=[Depends(within_read_limit)],
    response_model_exclude_none=True,
    responses=FAULTS,
)
async def issue_token(
    form: Annotated[OAuthTokenForm, Form()], request: Request, db: Db, config: Config, own: Tokens, _: Public
) -> OAuthTokenOut:
    """Exchange a code, a refresh token, or an agent's client id and secret for tokens (RFC 6749)."""
    rules.require_resource(form.resource or None, resource_of(config.base_url))
    if form.grant_type == "client_credentials":
        return await _token_of_agent(request, form)
    client_id = _client_id(request, form.client_id)
    if form.grant_type == "authorization_code":
        code, verifier = _required("code", form.code), _required("code_verifier", form.code_verifier)
        redirect_uri = _required("redirect_uri", form.redirect_uri)
        issued = await db.transaction(
            lambda tx: tokens.exchange_code(
                tx, code, client_id=client_id, redirect_uri=redirect_uri, verifier=verifier
            )
        )
    elif form.grant_type == "refresh_token":
        refresh_token = _required("refresh_token", form.refresh_token)
        issued = await db.transaction(
            lambda tx: tokens.refresh(tx, refresh_token, client_id=client_id, scope=form.scope or None)
        )
    else:
        _required("grant_type", form.grant_type)
        raise OAuthFault(
            "unsupported_grant_type",
            "grant_type is authorization_code, refresh_token or client_credentials.",
        )
    if issued is None:
        raise OAuthFault("invalid_grant", "The code or refresh token is not good for this request.")
    return OAuthTokenOut(
        access_token=issued.access_token(own, config.base_url),
        expires_in=issued.expires_in,
        refresh_token=issued.refresh_token,
        scope=issued.scope,
    )


@oauth_router.post(
    "/revoke",
    operation_id="revoke_oauth_token",
    dependencies=[Depends(within_read_limit)],
    responses=FAULTS,
)
async def revoke_token(
    form: Annotated[RevocationForm, Form()], request: Request, db: Db, _: Public
) -> RevokedOut:
    """End the connection of a token (RFC 7009); unknown tokens get the same answer."""
    token, client_id = _required("token", form.token), _client_id(request, form.client_id)
    runtime = runtime_of(request)
    await db.transaction(lambda tx: tokens.revoke_token(tx, runtime, token, client_id))
    return RevokedOut()


@oauth_router.post(
    "/register",
    status_code=201,
    operation_id="register_oauth_client",
    dependencies=[Depends(within_read_limit)],
    responses=FAULTS,
)
async def register(body: ClientIn, config: Config, own: Tokens, _: Public) -> RegisteredClientOut:
    """Issue the id of a client (RFC 7591). Nothing is stored; the person who connects it sees it as unverified."""
    addresses = body.redirect_uris
    if not isinstance(addresses, list) or not all(isinstance(one, str) for one in addresses):
        raise OAuthFault("invalid_redirect_uri", "redirect_uris is a list of addresses.")
    name = body.client_name
    if name is not None and not isinstance(name, str):
        raise OAuthFault("invalid_client_metadata", "client_name is a text.")
    return RegisteredClientOut.of(register_client(own, config, addresses, name))


async def _token_of_agent(request: Request, form: OAuthTokenForm) -> OAuthTokenOut:
    """The token of an agent: for every route, or with `resource` an access token for the MCP endpoint alone."""
    runtime = runtime_of(request)
    client_id, secret = basic_credentials(request) or (form.client_id or "", form.client_secret or "")
    await admit(runtime.database, SECRETS_PER_ADDRESS, client_address(request))
    if not client_id or not secret:
        raise OAuthFault("invalid_client", "client_id and client_secret of an agent are required.", 401)
    try:
        agent = await sign_in_agent(runtime, client_id, secret)
    except Unauthorized as refusal:
        raise OAuthFault("invalid_client", refusal.detail, 401) from None
    except Forbidden as refusal:
        raise OAuthFault("unauthorized_client", refusal.detail) from None
    if not form.resource:
        lifetime = timedelta(minutes=runtime.settings.access_token_expire_minutes)
        token = runtime.tokens.issue(
            TokenKind.AGENT, agent.did, session=agent.session, now=agent.at, lifetime=lifetime
        )
        return OAuthTokenOut(access_token=token, expires_in=int(lifetime.total_seconds()))
    scopes = frozenset(rules.scopes_asked(form.scope) or CONNECTION_SCOPES)
    expires_at = int((agent.at + LIFETIME).timestamp())
    claims = AccessClaims(agent.did, client_id, scopes, expires_at, session=agent.session)
    token = issue_access(runtime.tokens, runtime.settings.base_url, claims, now=agent.at)
    return OAuthTokenOut(
        access_token=token, expires_in=int(LIFETIME.total_seconds()), scope=scope_text(scopes)
    )


def _client_id(request: Request, given: str | None) -> str:
    """The id of a public client, in the body or, with an empty secret, in the header. Raises: OAuthFault."""
    credentials = basic_credentials(request)
    if credentials is None:
        return _required("client_id", given)
    client_id, secret = credentials
    if secret or (given or client_id) != client_id:
        raise OAuthFault("invalid_client", "A connected client has no secret.", 401)
    return client_id


def _required(name: str, value: str | None) -> str:
    if not value:
        raise OAuthFault("invalid_request", f"{name} is required.")
    return value
