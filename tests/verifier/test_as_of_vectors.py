"""Frozen documents of every kind, each judged as of a time of the past: the verdict never depends on the present."""

import json
import random
from collections.abc import Callable
from copy import deepcopy
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from hansa.doors.verification.cards import then_of
from hansa.doors.verification.reputation import verify_export
from hansa_verify import (
    read_amount,
    read_auditor_keys,
    read_json,
    read_keys,
    verify_achievement,
    verify_agent_key,
    verify_card,
    verify_liabilities_as_of,
    verify_licence_as_of,
)
from tests.properties.scale import by_tier, printed_seed
from tests.verifier.past import FROZEN, frozen
from tests.verifier.served import Vector, vectors_in

KINDS = ("card", "achievement", "licence", "agent_key", "reputation", "balance")


def balance(vector: Vector, at: datetime) -> Any:
    expected = vector["balance"]
    return verify_liabilities_as_of(
        read_json(vector["document"]),
        read_auditor_keys(vector["keys"]),
        at,
        vector["records"],
        balance=None if expected is None else read_amount(expected),
        log_proof=vector["log_proof"],
        checkpoint=vector["checkpoint"],
    )


def licence(vector: Vector, at: datetime) -> Any:
    return verify_licence_as_of(
        vector["certificate"], vector["chain"], at, root_hash=vector["root"], lists=vector["lists"]
    )


JUDGES: dict[str, Callable[[Vector, datetime], Any]] = {
    "card": lambda one, at: verify_card(one["document"], read_keys(one["keys"]), at=at),
    "achievement": lambda one, at: verify_achievement(one["document"], read_keys(one["keys"]), at=at),
    "licence": licence,
    "agent_key": lambda one, at: verify_agent_key(
        one["document"], read_keys(one["keys"]), at, kid=one["kid"]
    ),
    "balance": balance,
}

ODD: tuple[Any, ...] = (None, 1, -1, 2**70, True, "x", "\ud800", [], {}, 1.5, [None])


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "reputation"])
def test_each_frozen_document_is_judged_as_of_its_time_as_it_must_be(kind: str):
    expected, found = {}, {}
    for vector in vectors_in(FROZEN):
        if vector["kind"] == kind:
            verdict = JUDGES[kind](vector, datetime.fromisoformat(vector["at"]))
            assert verdict.is_valid == all(step.holds for step in verdict.steps), vector["name"]
            found[vector["name"]], expected[vector["name"]] = verdict.code, vector["expect"]
    assert found == expected


def test_each_frozen_export_gives_the_scores_of_its_day(tmp_path: Path):
    expected, found = {}, {}
    for vector in vectors_in(FROZEN):
        if vector["kind"] == "reputation":
            export, stated = tmp_path / "export.json", tmp_path / "stated.json"
            export.write_text(vector["document"])
            stated.write_text(vector["stated"] or "")
            day = datetime.fromisoformat(vector["at"]).date()
            verdict = verify_export(str(export), day, str(stated) if vector["stated"] else None)
            found[vector["name"]], expected[vector["name"]] = verdict.code, vector["expect"]
    assert found == expected


def test_the_documents_are_made_again_byte_for_byte():
    assert "".join(json.dumps(one) + "\n" for one in frozen()) == FROZEN.read_text()


def test_each_kind_has_documents_that_hold_and_documents_that_do_not():
    outcomes = {
        (one["kind"], then_of(one["expect"], is_valid=one["expect"] == "verified"))
        for one in vectors_in(FROZEN)
    }
    decided = {(kind, outcome) for kind in KINDS for outcome in ("valid", "not valid")}
    assert outcomes >= decided


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the paths of every member below a value."""
    members: Any = value.items() if isinstance(value, dict) else ()
    members = enumerate(value) if isinstance(value, list) else members
    return [one for name, member in members for one in [(*path, name), *places(member, (*path, name))]]


def test_no_odd_member_of_a_proof_raises_or_makes_a_refused_one_valid():
    rng = random.Random(printed_seed())
    vectors = [one for one in vectors_in(FROZEN) if one["kind"] == "balance" and one["balance"] is None]
    for _ in range(by_tier(800, 20_000, 100_000)):
        vector = deepcopy(rng.choice(vectors))
        document = json.loads(vector["document"])
        changed = {"document": document, "records": vector["records"], "log_proof": vector["log_proof"] or {}}
        *path, last = rng.choice([one for one in places(changed) if len(one) > 1])
        holder: Any = changed
        for name in path:
            holder = holder[name]
        holder[last] = rng.choice(ODD)
        verdict = verify_liabilities_as_of(
            document,
            read_auditor_keys(vector["keys"]),
            datetime.fromisoformat(vector["at"]),
            vector["records"],
            log_proof=vector["log_proof"],
            checkpoint=vector["checkpoint"],
        )
        assert not verdict.is_valid or vector["expect"] == "verified", (vector["name"], path, last)
