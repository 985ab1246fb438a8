"""Preview of a pull of a host, for an owner who is about to create an agent there. Nothing is written."""

from typing import Any

from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.rooms.catalogue.hosts import host_address

from .pulling import ask
from .records import Addresses, Remembered, Unserved

NOTHING_REMEMBERED = Remembered(None, None, None, frozenset(), None)


async def preview_host(runtime: Runtime, host: str) -> dict[str, Any] | Unserved:
    """The document that the host serves, which is a valid card; or why there is none.

    Raises: HostRefused.
    """
    allowed = runtime.settings.outgoing_allow_user_hosts
    addresses = Addresses(host_address(host, allowed), ())
    answered = await ask(runtime.outgoing, addresses, NOTHING_REMEMBERED, allowed)
    if isinstance(answered, Unserved):
        return answered
    assert answered.document is not None
    return answered.document
