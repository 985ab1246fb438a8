"""Cookies of this registry: out of reach of scripts and of other hosts.

Over https they have the prefix `__Host-`, so no other host and no path can set or read them. A browser takes such cookies
only over https: over http they have plain names, and are set only where the registry is reached by a loopback address.
"""

from ipaddress import ip_address
from typing import Literal
from urllib.parse import urlsplit

from fastapi import Request
from fastapi.responses import Response

from hansa.foundation.plumbing.settings import Settings


def cookie_of(request: Request, settings: Settings, name: str) -> str | None:
    """The value of one cookie of this registry."""
    return request.cookies.get(_named(settings, name))


def set_cookie(
    answer: Response,
    settings: Settings,
    name: str,
    value: str,
    seconds: int,
    *,
    is_script_readable: bool = False,
    same_site: Literal["lax", "strict"] = "lax",
) -> None:
    """Let the browser store a value that no other site sends, and no script reads but where `is_script_readable`.

    With `same_site` "strict" the browser does not send it with a link of another site either.
    """
    answer.set_cookie(
        _named(settings, name),
        value,
        max_age=seconds,
        path="/",
        secure=_is_https(settings),
        httponly=not is_script_readable,
        samesite=same_site,
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
