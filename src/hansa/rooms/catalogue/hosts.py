"""The host of an agent, below which its card will be read.

What can never be read is refused at once. Plain http is taken: whether the registry calls it is for the operator to say.
"""

from collections.abc import Collection
from urllib.parse import urlsplit

from hansa.foundation.words.errors import HostRefused
from hansa.foundation.words.web_address import require_callable


def pullable_host(host: str, allowed: Collection[str] = ()) -> str:
    """The address to pull below, without a trailing slash. `allowed` holds `host:port` pairs that are let through.

    Raises: HostRefused.
    """
    address = require_callable(host.strip(), allowed, field="agent_host", plain_http=True)
    if "?" in address.url:
        raise HostRefused("The host carries a query.", field="agent_host")
    return urlsplit(address.url).geturl().rstrip("/")
