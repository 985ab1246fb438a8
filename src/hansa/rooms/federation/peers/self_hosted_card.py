"""Read a registry that is no peer at its own address: the keys that count for its cards where another registry passes them on.

- An address is a registry's own where its host is the trust domain or a name below it. A relay cannot choose it.
- The card found there must be of the registry expected, and sign that its DID namespace is its trust domain.
"""

from urllib.parse import urlsplit

from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.values.errors import Refused

from .adding import callable_address
from .errors import PeerUnreachable
from .judging import CardRefused, ExpectedRegistry, judge_card
from .meeting import read_publicly
from .reading import database_time
from .records import VerifiedCard


class HomeRefused(Exception):
    """The registry cannot be verified at its own address; `reason` may be counted and stored."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


async def read_home(runtime: Runtime, ledger_id: str, registry_url: str) -> VerifiedCard:
    """The verified card of the registry with this ledger id, with its keys. Never within a transaction.

    Raises: HomeRefused.
    """
    trust_domain = ledger_id.partition("/")[0]
    if not is_own_address(registry_url, trust_domain):
        raise HomeRefused("home_address_foreign")
    settings = runtime.settings
    try:
        address = callable_address(registry_url, settings.outgoing_allow_hosts, field="registry_url")
        found = await read_publicly(runtime, address)
    except PeerUnreachable:
        raise HomeRefused("home_unreachable") from None
    except Refused:
        raise HomeRefused("home_address_refused") from None
    assert found.card is not None
    now = await runtime.database.query(database_time)
    expected = ExpectedRegistry(trust_domain, settings.issuer or None)
    try:
        card = judge_card(found.card, found.keys, expected, now=now)
    except CardRefused as refused:
        raise HomeRefused(refused.reason) from None
    if card.ledger_id != ledger_id or card.did_namespace != trust_domain:
        raise HomeRefused("home_mismatch")
    return card


def is_own_address(url: str, trust_domain: str) -> bool:
    """Return whether the host of an address is the trust domain, or a name below it."""
    try:
        host = (urlsplit(url).hostname or "").rstrip(".")
    except ValueError:
        return False
    return host == trust_domain or host.endswith(f".{trust_domain}")
