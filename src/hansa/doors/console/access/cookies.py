"""The cookies of the console: the token of a session, of a login that waits for its code, and the sign that there is a session.

Over https they have the prefix `__Host-`, so no other host and no path can set or read them. A browser takes such cookies
only over https: over http they have plain names, and are set only where the registry is reached by a loopback address.
"""

from ipaddress import ip_address
from urllib.parse import urlsplit

from fastapi import Request
from fastapi.responses import Response

from hansa.foundation.plumbing.settings import Settings

SESSION = "hansa_session"
# Read by `static/shell.js`, so that a visitor without a session asks for no menu of one. It holds no secret and opens nothing.
HAS_SESSION = "hansa_person"
PARTIAL_LOGIN = "hansa_login"
SESSION_SECONDS = 12 * 3600
PARTIAL_LOGIN_SECONDS = 300


def cookie_of(request: Request, settings: Settings, name: str) -> str | None:
    """The value of one cookie of the console."""
    return request.cookies.get(_named(settings, name))


def set_session(answer: Response, settings: Settings, token: str) -> None:
    """Let the browser store the token of a session, and that it has one."""
    set_cookie(answer, settings, SESSION, token, SESSION_SECONDS)
    set_cookie(answer, settings, HAS_SESSION, "1", SESSION_SECONDS, is_script_readable=True)


def drop_session(answer: Response, settings: Settings) -> None:
    """Let the browser delete the token of its session."""
    drop_cookie(answer, settings, SESSION)
    drop_cookie(answer, settings, HAS_SESSION)


def set_cookie(
    answer: Response,
    settings: Settings,
    name: str,
    value: str,
    seconds: int,
    *,
    is_script_readable: bool = False,
) -> None:
    """Let the browser store a value that no other site sends, and no script reads but where `is_script_readable`."""
    answer.set_cookie(
        _named(settings, name),
        value,
        max_age=seconds,
        path="/",
        secure=_is_https(settings),
        httponly=not is_script_readable,
        samesite="lax",
    )


def drop_cookie(answer: Response, settings: Settings, name: str) -> None:
    """Let the browser forget a value."""
    set_cookie(answer, settings, name, "", 0)


def may_log_in(settings: Settings) -> bool:
    """Return whether cookies are safe here: over https, or to a loopback address."""
    return _is_https(settings) or _is_loopback(urlsplit(settings.base_url).hostname or "")


def _named(settings: Settings, name: str) -> str:
    return f"__Host-{name}" if _is_https(settings) else name


def _is_https(settings: Settings) -> bool:
    return settings.base_url.startswith("https://")


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
