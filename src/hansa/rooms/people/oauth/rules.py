"""Rules of the OAuth server; they touch nothing.

- A redirect address is compared as text; only http at a loopback address may have another port.
- A challenge of PKCE is S256, a verifier has 43 to 128 characters.
- Of the scopes of a request those that exist are offered; the person decides.
"""

import re
from base64 import urlsafe_b64encode
from collections.abc import Collection, Iterable, Sequence
from hashlib import sha256
from hmac import compare_digest
from urllib.parse import urlencode, urlsplit

from hansa.foundation.values.connections import CONNECTION_SCOPES, OFFLINE_ACCESS
from hansa.foundation.values.visible_text import NOTHING_TO_SEE, seen

from .errors import OAuthFault

REDIRECTS_OF_DOCUMENT_MAX = 20
REDIRECTS_OF_REGISTRATION_MAX = 5
REDIRECT_MAX_CHARACTERS = 1024
CLIENT_ID_MAX_CHARACTERS = 2048
NAME_MAX_CHARACTERS = 100
STATE_MAX_CHARACTERS = 2048
GRANTS_MAX = 20
DAYS_MAX = 365
PORT_MAX = 65_535

_LOOPBACK = re.compile(
    r"http://(?P<host>127\.0\.0\.1|\[::1\]|localhost)(?::(?P<port>[0-9]{1,5}))?(?P<rest>[/?].*)?", re.ASCII
)
_VISIBLE = re.compile(r"[!-~]+", re.ASCII)
# What browsers and parsers of URLs read differently from each other.
_AMBIGUOUS = re.compile(r"""[\\"<>^`{|}]""", re.ASCII)
_CHALLENGE = re.compile(r"[A-Za-z0-9_-]{43}", re.ASCII)
_VERIFIER = re.compile(r"[A-Za-z0-9._~-]{43,128}", re.ASCII)
_HOST = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9.-]{0,251}[A-Za-z0-9])?(?::[0-9]{1,5})?", re.ASCII)


def is_redirect(address: str, schemes: Collection[str]) -> bool:
    """Return whether a client may have this redirect address: https, http at a loopback address, or one of `schemes`."""
    place = _place(address) if len(address) <= REDIRECT_MAX_CHARACTERS else None
    if place is None:
        return False
    if address.startswith("https://"):
        return _HOST.fullmatch(place) is not None
    if address.startswith("http://"):
        return loopback_place(address) is not None
    return any(address.startswith(f"{scheme}://") for scheme in schemes)


def _place(address: str) -> str | None:
    """Host and port of an address that every parser reads alike, without userinfo and fragment; None of any other text."""
    if not _VISIBLE.fullmatch(address) or _AMBIGUOUS.search(address) or "#" in address:
        return None
    try:
        parts = urlsplit(address)
        is_port = parts.port is None or parts.port >= 0
    except ValueError:
        return None
    return parts.netloc if is_port and parts.netloc and "@" not in parts.netloc else None


def loopback_place(address: str) -> tuple[str, str] | None:
    """Host and all behind the port of an http address at a loopback address; None for any other address."""
    found = _LOOPBACK.fullmatch(address)
    if found is None or int(found["port"] or 0) > PORT_MAX:
        return None
    return found["host"], found["rest"] or ""


def is_own_redirect(address: str, own: Iterable[str]) -> bool:
    """Return whether the address is one of a client's own: the same text, at a loopback address with any port."""
    place = loopback_place(address)
    return any(one == address or (place is not None and loopback_place(one) == place) for one in own)


def document_host(client_id: str) -> str | None:
    """The host of a client id that is the address of a metadata document; None where it is none.

    An https address with a path, without fragment, userinfo and dot segments.
    """
    if not client_id.startswith("https://") or len(client_id) > CLIENT_ID_MAX_CHARACTERS:
        return None
    if _place(client_id) is None:
        return None
    parts = urlsplit(client_id)
    segments = [re.sub("%2e", ".", segment, flags=re.IGNORECASE) for segment in parts.path.split("/")]
    if parts.path in {"", "/"} or {".", ".."} & set(segments):
        return None
    return parts.hostname


def client_name(text: object) -> str | None:
    """The name of a client in one visible line; None where it is none."""
    if not isinstance(text, str):
        return None
    name = " ".join(seen(text).split())[:NAME_MAX_CHARACTERS].strip()
    return None if name in {"", NOTHING_TO_SEE} else name


def require_code_in_query(response_type: str | None, response_mode: str) -> None:
    """Raises: OAuthFault."""
    if response_type != "code":
        raise OAuthFault("unsupported_response_type", "response_type is `code`.")
    if response_mode != "query":
        raise OAuthFault("invalid_request", "response_mode is `query`.")


def scopes_asked(scope: str | None) -> tuple[str, ...]:
    """The scopes of a request in our order; none asked for are those of reading. Raises: OAuthFault."""
    asked = set((scope or "").split())
    if unknown := asked - set(CONNECTION_SCOPES) - {OFFLINE_ACCESS}:
        raise OAuthFault("invalid_scope", f"Unknown scope {min(unknown)[:64]!r}.")
    return tuple(one for one in CONNECTION_SCOPES if one in asked)


def narrowed(scope: str | None, held: Sequence[str]) -> frozenset[str]:
    """The scopes of a refreshed token: those asked for, which the grant has, or all of it. Raises: OAuthFault."""
    asked = set((scope or "").split()) - {OFFLINE_ACCESS}
    if not asked:
        return frozenset(held)
    if not asked <= set(held):
        raise OAuthFault(
            "invalid_scope", "A refreshed token may have fewer scopes than its connection, not more."
        )
    return frozenset(asked)


def require_resource(resource: str | None, own: str) -> None:
    """The resource is absent or the MCP endpoint; its query is ignored. Raises: OAuthFault."""
    if resource is None:
        return
    named = resource.partition("?")[0].removesuffix("/")
    if named != own or "#" in resource:
        raise OAuthFault("invalid_target", f"The only resource here is {own}.")


def require_challenge(challenge: str | None, method: str | None) -> str:
    """Raises: OAuthFault."""
    if method != "S256" or challenge is None or not _CHALLENGE.fullmatch(challenge):
        raise OAuthFault(
            "invalid_request", "PKCE is required: code_challenge with code_challenge_method S256."
        )
    return challenge


def proves(verifier: str, challenge: str) -> bool:
    """Return whether the verifier is that of the challenge (RFC 7636, 4.6)."""
    if not _VERIFIER.fullmatch(verifier):
        return False
    digest = urlsafe_b64encode(sha256(verifier.encode()).digest()).rstrip(b"=").decode()
    return compare_digest(digest, challenge)


def led_back(redirect_uri: str, **parameters: str | None) -> str:
    """The redirect address with these parameters behind those that it has."""
    given = {name: value for name, value in parameters.items() if value is not None}
    joint = "&" if "?" in redirect_uri else "?"
    return f"{redirect_uri}{joint}{urlencode(given)}"


def redirect_host(address: str) -> str:
    """The host to which the answer goes, for the person to read; of a scheme of a program the scheme."""
    parts = urlsplit(address)
    return parts.netloc if parts.scheme in {"http", "https"} else f"{parts.scheme}://"
