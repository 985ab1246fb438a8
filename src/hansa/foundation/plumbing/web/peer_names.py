"""Names of peers in paths: `{name:peer}` in a route.

A peer is addressed by its registry name, its trust domain or its ledger id. The ledger id of an operator registry,
`<trust domain>/registry/<name>`, holds slashes, percent-encoded in a request (Specification 6 W 3). The text after the name in a
path, such as an act, is not part of it.
"""

from starlette.convertors import Convertor, register_url_convertor


class PeerName(Convertor[str]):
    """One segment, or a ledger id of three."""

    regex = "[^/]+(?:/registry/[^/]+)?"

    def convert(self, value: str) -> str:
        """The name as it is."""
        return value

    def to_string(self, value: str) -> str:
        """The name in a path."""
        return value


register_url_convertor("peer", PeerName())
