"""EIP-712 hashes of authorizations, against vectors made by another library."""

import json
from pathlib import Path
from typing import Any

import pytest

from hansa.rooms.commerce.x402.networks import authorization_digest, domain_separator

VECTORS = Path(__file__).parents[2] / "vectors" / "wallets.json"
WALLETS = json.loads(VECTORS.read_text())["wallets"]


@pytest.mark.parametrize("wallet", WALLETS, ids=[wallet["address"][:8] for wallet in WALLETS])
def test_what_a_wallet_signs_of_an_authorization_is_its_eip_712_hash(wallet: dict[str, Any]) -> None:
    domain, stated = wallet["typed"]["domain"], wallet["typed"]["authorization"]
    contract, sender, recipient, nonce = (
        bytes.fromhex(text[2:])
        for text in (domain["verifyingContract"], stated["from"], stated["to"], stated["nonce"])
    )
    numbers = [int(stated[name]) for name in ("value", "validAfter", "validBefore")]
    separator = domain_separator(domain["name"], domain["version"], domain["chainId"], contract)
    digest = authorization_digest(separator, sender, recipient, numbers, nonce)
    assert "0x" + digest.hex() == wallet["typed"]["digest"]
