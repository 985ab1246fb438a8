"""A form changes something only when a page of this registry sent it.

Two headers that pages cannot write are checked, each where it is present, and one must be: `Sec-Fetch-Site` says
`same-origin`; `Origin` is the address of the registry, or the address that the request itself was sent to.
"""

from urllib.parse import urlsplit

from fastapi import Request

from hansa.foundation.plumbing.settings import Settings

from .errors import CrossSiteForm


def require_same_origin(request: Request, settings: Settings) -> None:
    """Raises: CrossSiteForm."""
    sites = request.headers.getlist("sec-fetch-site")
    origins = request.headers.getlist("origin")
    if not sites and not origins:
        raise CrossSiteForm
    if any(site != "same-origin" for site in sites):
        raise CrossSiteForm
    if any(origin not in _own_origins(request, settings) for origin in origins):
        raise CrossSiteForm


def _own_origins(request: Request, settings: Settings) -> set[str]:
    configured = urlsplit(settings.base_url)
    # A registry on a loopback address has several names. The host of a request is never a name that another page has:
    # the cookie is not sent to that name.
    host = request.headers.get("host", "")
    return {f"{configured.scheme}://{name}".lower() for name in (configured.netloc, host) if name}
