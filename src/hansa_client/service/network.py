"""The native x402 network of a registry, as it publishes it."""

import logging
from collections.abc import Mapping
from typing import Any

from hansa_client import AsyncRegistry
from hansa_client.calls import Call, read_answer
from hansa_client.errors import HansaError

from .challenge import X402Network

log = logging.getLogger(__name__)

NATIVE = "hansa:"


async def native_network(registry: AsyncRegistry) -> X402Network | None:
    """The network; None where the registry does not serve x402, or does not answer now."""
    call = Call("GET", "/x402/supported")
    try:
        supported = read_answer((await registry.fetch(call)).content, dict[str, Any], call)
    except HansaError as error:
        log.info("the registry states no x402 network: %s", type(error).__name__)
        return None
    return network_in(supported)


def network_in(supported: Mapping[str, Any]) -> X402Network | None:
    """The native network of a document of `/x402/supported`."""
    kinds = supported.get("kinds")
    for kind in kinds if isinstance(kinds, list) else ():
        network = kind.get("network") if isinstance(kind, Mapping) else None
        if isinstance(network, str) and network.startswith(NATIVE) and kind.get("scheme") == "exact":
            extra = kind.get("extra")
            return X402Network(network, extra if isinstance(extra, Mapping) else {})
    return None
