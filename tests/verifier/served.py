"""Vectors of the objects that a registry serves: how each kind is judged."""

import json
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

from hansa.doors.verification.log import judge_consistency, judge_inclusion
from hansa_verify import (
    AuditorKey,
    ChainVerdict,
    Decision,
    NotAKey,
    NotCanonical,
    read_auditor_keys,
    read_export,
    read_json,
    read_keys,
    verify_attestations,
    verify_card,
    verify_document,
    verify_liabilities,
    verify_registry_card,
)

VECTORS = Path(__file__).parents[1] / "vectors"
SERVED, EDITED = VECTORS / "served.jsonl", VECTORS / "served_edited.jsonl"

Vector = dict[str, Any]


def vectors_in(file: Path) -> list[Vector]:
    return [json.loads(line) for line in file.read_text().splitlines()]


def judged(vector: Vector) -> str:
    """The outcome of a vector by its kind."""
    at = datetime.fromisoformat(vector["at"])
    is_registrys = vector["kind"] in OF_REGISTRY
    try:
        keys = (read_keys if is_registrys else read_auditor_keys)(vector["keys"])
        judges = OF_REGISTRY if is_registrys else OF_AUDITOR
        return judges[vector["kind"]](vector, keys, at).code
    except NotAKey:
        return "keys_refused"
    except NotCanonical:
        return "unreadable"


def chain(vector: Vector, keys: tuple[AuditorKey, ...], at: datetime) -> ChainVerdict:
    return verify_attestations(read_export(vector["document"])[0], keys, exact=True, at=at)


def liabilities(vector: Vector, keys: tuple[AuditorKey, ...], _: datetime) -> Decision:
    return verify_liabilities(read_json(vector["document"]), keys)


OF_REGISTRY: dict[str, Callable[..., Decision]] = {
    "card": lambda vector, keys, at: verify_card(vector["document"], keys, at=at),
    "receipt": lambda vector, keys, at: verify_document(
        vector["document"], keys, typ="payment-receipt+jws", at=at
    ),
    "registry_card": lambda vector, keys, at: verify_registry_card(vector["document"], keys, at=at),
}
OF_AUDITOR: dict[str, Callable[..., Any]] = {
    "chain": chain,
    "balance": liabilities,
    "blocks": liabilities,
    "leaf": lambda vector, keys, _: judge_inclusion(read_json(vector["document"]), keys),
    "consistency": lambda vector, keys, _: judge_consistency(
        read_json(vector["document"]), keys, vector["old"]
    ),
}
