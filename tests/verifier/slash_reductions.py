"""Drawn bundles of disputes with attestations, and what they state of the slash: that which follows from their facts, or another."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from random import Random
from typing import Any

from hansa_verify import RULES_VERSION, reduce_slash

RULED = datetime(2030, 1, 1, 12, tzinfo=UTC)
DEFENDANT, COMPLAINANT = "did:hansa:hansa.local:payee", "did:hansa:hansa.local:payer"
TOKEN = "11111111-1111-4111-8111-111111111111"
SUBJECTS = ("contract:7", f"token:{TOKEN}", "contract:8", None)


def drawn_bundles(seed: int, count: int) -> Iterator[dict[str, Any]]:
    """Bundles; every third states another reduction than its facts give."""
    drawn = Random(seed)
    for number in range(count):
        bundle = _drawn(drawn)
        stated, reduction = bundle["slash"], reduce_slash(bundle)
        stated |= {"share": f"{reduction.share:f}", "attestation_ids": list(reduction.attestation_ids)}
        requested = drawn.choice([None, "0", "0.00000001", "0.00000005", "1", "99999999.99999999"])
        cut = None if requested is None else f"{reduction.of(Decimal(requested)):f}"
        stated |= {"requested": requested, "reduction": cut}
        if number % 3 == 2:
            _alter(drawn, stated)
        yield bundle


def _drawn(drawn: Random) -> dict[str, Any]:
    kind = drawn.choice(["contract", "token", "neither"])
    return {
        "rules": RULES_VERSION,
        "dispute": {"defendant_did": DEFENDANT, "complainant_did": COMPLAINANT},
        "contract": {"id": 7} if kind == "contract" else None,
        "token": {"token_id": TOKEN} if kind == "token" else None,
        "attestations": [_attestation(drawn, number, kind) for number in range(drawn.randrange(7))],
        "slash": {
            "as_of": RULED.isoformat(),
            "share_each": drawn.choice(["0", "0.1", "0.15", "0.3", "0.5", "0.000000001"]),
        },
    }


def _attestation(drawn: Random, number: int, kind: str) -> dict[str, Any]:
    usual = {"contract": SUBJECTS[0], "token": SUBJECTS[1]}.get(kind)
    verified = RULED - timedelta(days=drawn.choice([1, 30, 89, 90, 0]))
    revoked = drawn.choice([None, None, None, RULED - timedelta(seconds=1), RULED, RULED + timedelta(days=1)])
    return {
        "attestation_id": f"00000000-0000-4000-8000-{number:012}",
        "agent_did": drawn.choice([DEFENDANT, DEFENDANT, DEFENDANT, COMPLAINANT]),
        "circuit_id": f"circuit-{drawn.randrange(4)}",
        "context": drawn.choice([usual, usual, usual, *SUBJECTS]),
        "verified_at": verified.isoformat(),
        "expires_at": (verified + timedelta(days=90)).isoformat(),
        "revoked_at": None if revoked is None else revoked.isoformat(),
    }


def _alter(drawn: Random, stated: dict[str, Any]) -> None:
    how = drawn.choice(["share", "attestation_ids", "reduction", "requested"])
    changed = {
        "share": "0.49999999",
        "attestation_ids": [*stated["attestation_ids"], TOKEN],
        "reduction": "7" if stated["reduction"] is not None else "0",
        "requested": None if stated["requested"] is not None else "1",
    }
    stated[how] = changed[how]
