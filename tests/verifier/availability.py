"""`python -m tests.verifier.availability`: availability of an agent, into `tests/vectors/availability.jsonl`.

The keys of the registry are those of the settlements; the auditor signs with the present one, and has a retired one.
"""

import json
from base64 import b64encode
from collections.abc import Callable, Iterator
from copy import deepcopy
from datetime import date, datetime, timedelta
from hashlib import sha256
from typing import Any

from hansa.foundation.values import merkle
from hansa.rooms.auditor.transparency import notes
from hansa_verify import (
    CARD_PROFILE,
    STATEMENT_KIND,
    STATEMENT_TYPE,
    availability_leaf,
    bounds_of_day,
    bounds_of_days,
    canonical_json,
    median_class,
)
from tests.verifier.achievements import KEYS
from tests.verifier.served import VECTORS
from tests.verifier.settlements import (
    AT,
    KID,
    OLD_KID,
    PRESENT,
    RETIRED,
    STRANGER,
    encoded,
    signed,
)

FROZEN = VECTORS / "availability.jsonl"
REGISTRY, DID = "hansa:hansa.local", "did:hansa:hansa.local:Köln-😀"
OTHERS = ("did:hansa:hansa.local:a", "did:hansa:hansa.local:b", "did:hansa:peer.example:c")
FIRST = date(2026, 3, 3)
AUDITOR = {
    "keys": [{"kty": "OKP", "crv": "Ed25519", "kid": "auditor#2", "x": encoded(PRESENT.public_key().public_bytes_raw())}]
}  # fmt: skip
UP, PART, DOWN = [4, 3, 1, 0, 0, 0], [4, 0, 2, 1, 0, 0], [2, 0, 0, 0, 0, 0]
# Days by their numbers: hours up, in part, down; the others have no probe.
SIGNED_BY_PRESENT = 88
MEASURED = {80: (24, 0, 0), 88: (10, 2, 3), 89: (0, 0, 24)}
Edit = Callable[[dict[str, Any]], None]
# Members of the statement, the key and the times that differ from those of a valid one.
How = dict[str, Any]


def hours_of(number: int) -> list[list[int] | None]:
    up, part, down = MEASURED[number]
    hours: list[list[int] | None] = [*[UP] * up, *[PART] * part, *[DOWN] * down]
    return hours + [None] * (24 - len(hours))


def texts(hashes: list[bytes]) -> list[str]:
    return [b64encode(one).decode() for one in hashes]


def path(index: int, leaves: list[bytes]) -> list[str]:
    nodes = merkle.appended(0, {}, leaves)
    return texts([merkle.fold(part, nodes) for part in merkle.inclusion_path(index, len(leaves))])


def proof(number: int, how: How) -> dict[str, Any]:
    """The tree and the statement of a day, signed an hour after its end."""
    day = (FIRST + timedelta(number)).isoformat()
    leaves = [availability_leaf(did, day, hours_of(number)) for did in (*OTHERS[:2], DID, OTHERS[2])]
    root = merkle.fold((0, 4), merkle.appended(0, {}, leaves)).hex()
    content = {"kind": STATEMENT_KIND, "registry": REGISTRY, "day": day, "agents": 4, "root": root} | how.get(
        "members", {}
    )
    ended_at = datetime.fromisoformat(f"{day}T00:00:00+00:00") + timedelta(hours=25)
    # The older key was retired between these days.
    key, kid = (PRESENT, KID) if number >= SIGNED_BY_PRESENT else (RETIRED, OLD_KID)
    header = {
        "typ": STATEMENT_TYPE,
        "canon": CARD_PROFILE,
        "iat": int(ended_at.timestamp()),
        "key": key,
        "kid": kid,
    }
    parts = signed(content, **(header | how.get("header", {})))
    statement = {**content, "signatures": [{name: parts[name] for name in ("protected", "signature")}]}
    entry = {
        "v": 1,
        "kind": "availability",
        "id": day,
        "sha256": sha256(canonical_json(statement)).hexdigest(),
        "at": (ended_at + timedelta(seconds=1)).isoformat(),
    } | how.get("entry", {})
    return {
        "statement": statement,
        "index": 2,
        "hashes": path(2, leaves),
        "log": {"entry": canonical_json(entry).decode()},
    }


def document(how: How | None = None, edit: Edit | None = None) -> str:
    """An answer; `how` changes the last proved day before it is signed and logged, `edit` the document afterwards."""
    how = how or {}
    proofs = {number: proof(number, how if number == max(MEASURED) else {}) for number in MEASURED}
    entries = [b"another leaf", *(one["log"]["entry"].encode() for one in proofs.values())]
    leaves = [merkle.leaf_hash(entry) for entry in entries]
    for index, one in enumerate(proofs.values(), start=1):
        one["log"] |= {"index": index, "hashes": path(index, leaves)}
    root = merkle.fold((0, len(leaves)), merkle.appended(0, {}, leaves))
    text = notes.checkpoint_text("hansa.local/log", len(leaves), root)
    days = []
    for number in range(90):
        hours = hours_of(number) if number in MEASURED else None
        bounds = bounds_of_day(hours or ())
        days.append(
            {
                "day": (FIRST + timedelta(number)).isoformat(),
                "hours": hours,
                "lower": bounds.texts[0],
                "upper": bounds.texts[1],
                "measured_hours": bounds.measured,
                "proof": proofs.get(number),
            }
        )
    whole = bounds_of_days(bounds_of_day(day["hours"] or ()) for day in days)
    found = {
        "kind": "agent.availability.v1",
        "registry": REGISTRY,
        "agent_did": DID,
        "from": days[0]["day"],
        "to": days[-1]["day"],
        "lower": whole.texts[0],
        "upper": whole.texts[1],
        "measured_days": whole.measured,
        "median_ms_max": median_class(day["hours"] or () for day in days),
        "days": days,
        "checkpoint": notes.signed_note(text, "hansa.local/log", [how.get("auditor", PRESENT)]),
    }
    found = deepcopy(found)
    if edit:
        edit(found)
    return json.dumps(found, separators=(",", ":"))


def _put(*path_to: str | int) -> Callable[[Any], Edit]:
    def of(value: Any) -> Edit:
        def edit(found: Any) -> None:
            for name in path_to[:-1]:
                found = found[name]
            found[path_to[-1]] = value

        return edit

    return of


def _without_a_day(found: dict[str, Any]) -> None:
    """Leave the day of an outage out, and state the bounds of the others: it is then unmeasured, and shown so."""
    found["days"][89] |= {"hours": None, "proof": None, "lower": None, "upper": None, "measured_hours": 0}
    whole = bounds_of_days(bounds_of_day(day["hours"] or ()) for day in found["days"])
    found |= {"lower": whole.texts[0], "upper": whole.texts[1], "measured_days": 2}


def _as_the_day_before(found: dict[str, Any]) -> None:
    found["days"][89] |= {name: found["days"][88][name] for name in ("hours", "proof")}


# Name, outcome, changes before the signature, edit afterwards.
CASES: tuple[tuple[str, str, How, Edit | None], ...] = (
    ("valid", "verified", {}, None),
    ("a_day_left_out_is_unmeasured", "verified", {}, _without_a_day),
    ("better_bound", "arithmetic", {}, _put("lower")("0.9999")),
    ("better_bound_of_a_day", "arithmetic", {}, _put("days", 88, "lower")("1.0000")),
    ("bound_without_its_zeros", "arithmetic", {}, _put("upper")("0.6")),
    ("shorter_median", "arithmetic", {}, _put("median_ms_max")(0)),
    ("an_hour_up", "trees", {}, _put("days", 89, "hours", 0)(UP)),
    ("an_hour_left_out", "trees", {}, _put("days", 89, "hours", 0)(None)),
    ("another_agent", "trees", {}, _put("agent_did")(OTHERS[0])),
    ("another_place", "trees", {}, _put("days", 88, "proof", "index")(1)),
    ("more_answers_than_probes", "form", {}, _put("days", 88, "hours", 0)([1, 2, 0, 0, 0, 0])),
    ("a_day_without_its_proof", "form", {}, _put("days", 88, "proof")(None)),
    ("the_day_before_twice", "statements", {}, _as_the_day_before),
    ("days_of_another_time", "days", {}, _put("from")("2026-03-04")),
    ("another_registry", "statements", {}, _put("registry")("hansa:other.example")),
    ("signed_by_a_stranger", "statements", {"header": {"key": STRANGER}}, None),
    ("signed_by_a_retired_key", "statements", {"header": {"key": RETIRED, "kid": OLD_KID}}, None),
    ("signed_as_an_achievement", "statements", {"header": {"typ": "agent-achievement+jws"}}, None),
    ("fewer_agents", "trees", {"members": {"agents": 2}}, None),
    ("a_further_member", "statements", {"members": {"note": ""}}, None),
    ("a_root_that_is_none", "statements", {"members": {"root": "é" * 64}}, None),
    ("logged_after_the_verdict", "statements", {"entry": {"at": "2026-06-02T00:00:00+00:00"}}, None),
    ("logged_without_a_time", "log", {"entry": {"at": None}}, None),
    ("entry_of_another_statement", "log", {"entry": {"sha256": "0" * 64}}, None),
    ("entry_of_a_card", "log", {"entry": {"kind": "card"}}, None),
    ("checkpoint_of_a_stranger", "log", {"auditor": STRANGER}, None),
    ("without_a_checkpoint", "log", {}, _put("checkpoint")(None)),
)


def frozen() -> Iterator[dict[str, Any]]:
    """Every vector with the code of the verdict that it must have."""
    for name, expect, how, edit in CASES:
        yield {
            "name": name,
            "document": document(how, edit),
            "keys": KEYS,
            "auditor_keys": AUDITOR,
            "at": AT,
            "expect": expect,
        }


if __name__ == "__main__":
    FROZEN.write_text("".join(json.dumps(one) + "\n" for one in frozen()))
