"""DIDs that name an account of a registry."""

import pytest

from hansa.foundation.values.did import is_system_did


@pytest.mark.parametrize(
    ("did", "is_system"),
    [
        ("did:hansa:system:treasury", True),
        ("did:other:system:fee_collector", True),
        ("did:hansa:system:transit:peer.example", True),
        ("did:hansa:system", False),
        ("did:hansa:system:transit:peer.example:more", False),
        ("did:hansa:hansa.local:4c1a0f0e-8f0e-4f5a-9a54-6c1f0c1f5f55", False),
        ("did:hansa:hansa.local:system:treasury", False),
        ("urn:hansa:system:treasury", False),
        ("", False),
    ],
)
def test_system_accounts_have_four_parts_or_a_fifth_for_a_peer(did: str, is_system: bool):
    assert is_system_did(did) is is_system
