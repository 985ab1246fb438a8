"""Registries that a service trusts. An issuer that is not listed is refused without any request to it."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import SplitResult, urlsplit

DEFAULT_PORTS = {"http": 80, "https": 443}
URL_MAX = 500
ORIGINS_KEPT = 256


class IssuerNotTrusted(Exception):
    """The issuer is not one of the registries that the service believes."""


@lru_cache(ORIGINS_KEPT)
def origin_of(url: str) -> str:
    """The one spelling of a registry's address: scheme, host, and a port that is not the default. Raises: ValueError."""
    if len(url) > URL_MAX or not url.isascii() or any(mark <= " " or mark == "\\" for mark in url):
        raise ValueError(
            "the address of a registry is an ASCII URL without blanks, of at most 500 characters"
        )
    parts = urlsplit(url)
    if parts.scheme not in DEFAULT_PORTS or not parts.hostname:
        raise ValueError(f"the address of a registry is an http or https URL, got {url!r}")
    if parts.username is not None or parts.password is not None or parts.query or parts.fragment:
        raise ValueError("the address of a registry has no user, query or fragment")
    if parts.path.strip("/"):
        raise ValueError("the address of a registry has no path")
    return f"{parts.scheme}://{_host(parts)}"


def _host(parts: SplitResult) -> str:
    host = (parts.hostname or "").rstrip(".")
    shown = f"[{host}]" if ":" in host else host
    port = parts.port
    return shown if port is None or port == DEFAULT_PORTS[parts.scheme] else f"{shown}:{port}"


def read_registries(stated: str | Iterable[str | Mapping[str, str]]) -> tuple[str, ...]:
    """TRUSTED_REGISTRIES: a JSON list of URLs or of {url, client_id}, or URLs separated by commas. Raises: ValueError."""
    listed: object = stated
    if isinstance(stated, str):
        text = stated.strip()
        listed = json.loads(text) if text.startswith(("[", "{", '"')) else text.split(",")
    if isinstance(listed, str | Mapping):
        listed = [listed]
    if not isinstance(listed, Iterable):
        raise ValueError("TRUSTED_REGISTRIES is a list of URLs")  # noqa: TRY004
    return tuple(origin_of(url) for url in (_url(entry) for entry in listed) if url)


def _url(entry: object) -> str:
    url = entry.get("url") if isinstance(entry, Mapping) else entry
    if not isinstance(url, str):
        raise ValueError(f"an entry of TRUSTED_REGISTRIES is a URL or an object with `url`, got {entry!r}")  # noqa: TRY004
    return url.strip()


@dataclass(frozen=True)
class TrustedIssuers:
    """The service's own registry and those that it believes besides."""

    own: str
    others: tuple[str, ...] = ()
    own_names: tuple[str, ...] = ()
    """Further addresses of the own registry, such as its public one where `own` is an internal one."""

    @classmethod
    def of(cls, own: str, others: Iterable[str] = (), own_names: Iterable[str] = ()) -> "TrustedIssuers":
        """Each address in its one spelling. Raises: ValueError."""
        return cls(origin_of(own), tuple(map(origin_of, others)), tuple(map(origin_of, own_names)))

    def address(self, issuer: str | None) -> str:
        """Return the address at which a token of this issuer is verified; the own registry when none is named. Raises: IssuerNotTrusted."""
        if issuer is None:
            return self.own
        try:
            origin = origin_of(issuer.strip())
        except ValueError as error:
            raise IssuerNotTrusted(f"X-Payment-Issuer: {error}") from None
        if origin == self.own or origin in self.own_names:
            return self.own
        if origin not in self.others:
            raise IssuerNotTrusted(f"{origin} is not one of the registries that this service accepts")
        return origin

    @property
    def accepted(self) -> tuple[str, ...]:
        """The addresses to state in a challenge, the own registry first."""
        return (self.own_names or (self.own,))[:1] + self.others
