"""Clients: found by their id, which is the address of a metadata document or the signed metadata of a registration.

A registration stores nothing: its id holds the metadata under a signature of the registry and stays good as long as its key.
"""

import msgspec

from hansa.foundation.plumbing.keys.tokens import TokenIssuer, TokenKind
from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.values.errors import Unauthorized

from . import rules
from .documents import read_document
from .errors import ClientRefused, OAuthFault
from .records import OAuthClient

CLIENT_PREFIX = "hcl_"
NAMELESS = "Unnamed client"
_TYP = "client+jwt"


class _Registered(msgspec.Struct, frozen=True):
    name: str
    uris: list[str]


def register_client(
    tokens: TokenIssuer, settings: Settings, redirect_uris: list[str], name: str | None
) -> OAuthClient:
    """Issue the id of a client with this metadata. Raises: OAuthFault."""
    if not 1 <= len(redirect_uris) <= rules.REDIRECTS_OF_REGISTRATION_MAX:
        raise OAuthFault(
            "invalid_redirect_uri", f"A client has 1 to {rules.REDIRECTS_OF_REGISTRATION_MAX} redirect_uris."
        )
    if not all(rules.is_redirect(one, settings.oauth_redirect_schemes) for one in redirect_uris):
        raise OAuthFault(
            "invalid_redirect_uri",
            "A redirect URI is https, or http at 127.0.0.1, [::1] or localhost, without userinfo and fragment.",
        )
    shown = rules.client_name(name) if name is not None else NAMELESS
    if shown is None:
        raise OAuthFault("invalid_client_metadata", "client_name has no visible character.")
    claims = {
        "iss": settings.base_url,
        "aud": f"{settings.base_url}/oauth/authorize",
        "name": shown,
        "uris": redirect_uris,
    }
    client_id = CLIENT_PREFIX + tokens.sign(TokenKind.ACCESS, _TYP, claims)
    if len(client_id) > rules.CLIENT_ID_MAX_CHARACTERS:
        raise OAuthFault("invalid_client_metadata", "The redirect URIs are too long together.")
    return OAuthClient(client_id, None, shown, tuple(redirect_uris))


async def client_of(runtime: Runtime, client_id: str) -> OAuthClient:
    """The client with this id; its document may be fetched for it. Raises: ClientRefused, TooManyRequests."""
    if client_id.startswith(CLIENT_PREFIX):
        return _registered(runtime, client_id)
    host = rules.document_host(client_id)
    if host is None:
        raise ClientRefused(
            "client_id is neither a registered client nor the https address of a metadata document."
        )
    document = await read_document(runtime, client_id, host)
    return OAuthClient(client_id, host, document.client_name, document.redirect_uris)


def _registered(runtime: Runtime, client_id: str) -> OAuthClient:
    base = runtime.settings.base_url
    try:
        claims = runtime.tokens.opened(
            TokenKind.ACCESS,
            _TYP,
            client_id.removeprefix(CLIENT_PREFIX),
            issuer=base,
            audience=f"{base}/oauth/authorize",
        )
        registered = msgspec.convert(claims, _Registered)
    except (Unauthorized, msgspec.ValidationError):
        raise ClientRefused("client_id was not issued by this registry.") from None
    # A scheme that the operator took from the list is none any more.
    schemes = runtime.settings.oauth_redirect_schemes
    own = tuple(one for one in registered.uris if rules.is_redirect(one, schemes))
    return OAuthClient(client_id, None, registered.name, own)
