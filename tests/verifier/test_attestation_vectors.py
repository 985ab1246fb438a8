"""The frozen chains of attestations, thousands of changes to a valid one, and how long a year of records takes."""

import json
import random
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from hansa_verify import NotAKey, NotCanonical, read_auditor_keys, read_export, verify_attestations
from tests.properties.scale import by_tier, printed_seed

CHAINS = Path(__file__).parents[1] / "vectors" / "attestations"
VECTORS = {file.stem: json.loads(file.read_text()) for file in sorted(CHAINS.glob("*.json"))}


def judged(vector):
    """The outcome and the codes of the warnings."""
    try:
        records, key_set = read_export(vector["export"])
        keys = read_auditor_keys(key_set)
    except NotCanonical:
        return "unreadable", []
    except NotAKey:
        return "keys_refused", []
    max_age = timedelta(seconds=vector["max_age"]) if "max_age" in vector else None
    verdict = verify_attestations(
        records,
        keys,
        exact=vector.get("exact", False),
        max_age=max_age,
        at=datetime.fromisoformat(vector["at"]),
    )
    assert verdict.is_valid == all(step.holds for step in verdict.steps)
    return verdict.code, [warning.code for warning in verdict.warnings]


@pytest.mark.parametrize("expected", sorted({vector["expect"] for vector in VECTORS.values()}))
def test_each_frozen_chain_is_judged_as_it_must_be(expected):
    named = {name: vector for name, vector in VECTORS.items() if vector["expect"] == expected}
    outcomes = {name: judged(vector)[0] for name, vector in named.items()}
    assert outcomes == dict.fromkeys(named, expected)


def test_each_frozen_chain_is_warned_of_as_it_must_be():
    expected = {name: vector["warnings"] for name, vector in VECTORS.items()}
    assert {name: judged(vector)[1] for name, vector in VECTORS.items()} == expected


def changed(rng, export):
    """The export with one thing changed: a byte, a member of a record, two records, or an end cut off."""
    document = json.loads(export)
    records = document["attestations"]
    record = rng.choice(records)
    kind = rng.randrange(6)
    if kind == 0:
        name = rng.choice(sorted(record))
        record[name] = rng.choice([None, 0, "", [], rng.choice(records)[name]])
    elif kind == 1:
        del record[rng.choice(sorted(record))]
    elif kind == 2:
        name = rng.choice(["payload", "signature", "digest", "prev_hash", "kid", "ts"])
        text, place = record[name], rng.randrange(len(record[name]))
        record[name] = text[:place] + rng.choice("0aA9\u00e9 ") + text[place + rng.randrange(2) :]
    elif kind == 3:
        one, other = rng.randrange(len(records)), rng.randrange(len(records))
        records[one], records[other] = records[other], records[one]
    elif kind == 4:
        records.insert(rng.randrange(len(records)), rng.choice(records))
    else:
        del records[rng.randrange(len(records) - 1)]
    return json.dumps(document)


def without_ids(records):
    """Ids are not signed; they must only rise."""
    return [{name: value for name, value in record.items() if name != "id"} for record in records]


def test_no_single_change_is_accepted_with_another_signed_payload():
    seed = printed_seed()
    rng, vector = random.Random(seed), VECTORS["valid"]
    valid = without_ids(read_export(vector["export"])[0])
    accepted = 0
    for _ in range(by_tier(800, 50_000, 200_000)):
        mutant = changed(rng, vector["export"])
        if judged({**vector, "export": mutant})[0] == "verified":
            accepted += 1
            assert without_ids(read_export(mutant)[0]) == valid
    assert accepted < by_tier(160, 10_000, 40_000), "changes that change nothing are few"


def test_bytes_changed_anywhere_are_refused_or_change_nothing():
    rng, vector = random.Random(printed_seed()), VECTORS["valid"]
    valid = read_export(vector["export"])[0]
    signed = [record["payload"] for record in valid]
    for _ in range(by_tier(400, 20_000, 50_000)):
        raw = bytearray(vector["export"].encode())
        raw[rng.randrange(len(raw))] ^= 1 << rng.randrange(8)
        if judged({**vector, "export": bytes(raw)})[0] == "verified":
            assert [record["payload"] for record in read_export(bytes(raw))[0]] == signed
