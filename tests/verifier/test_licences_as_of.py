"""Licences as of a moment of the past: before, at and after each change, exact to the second, by lists of any time."""

import json
import random
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from hansa.doors.commands.program import app
from hansa_verify import LicenceVerdict, licence_hash, read_certificate, verify_licence_as_of
from tests.licences import TestGenesis, TestIssuer
from tests.properties.scale import by_tier, printed_seed

START, DAY = 1_800_000_000, 86_400
GENESIS = TestGenesis("genesis.example", seed=b"\x07" * 32)
ROOT = GENESIS.sign(GENESIS.payload("genesis", "genesis.example", key=GENESIS.jwk, iat=START))
FRAME_KEY = TestIssuer("frame.example", seed=b"\x08" * 32)
FRAME = GENESIS.sign(
    GENESIS.payload("frame", "frame.example", key=FRAME_KEY.jwk, iat=START + 100, exp=START + 90 * DAY)
)
States = tuple[tuple[int, str], ...]
REVOKED_AT = START + 10 * DAY
REVOKED: States = ((START + 100, "active"), (REVOKED_AT, "revoked"))


def issued_list(at: int, *histories: tuple[str, States], sees_own_second: bool = False) -> str:
    """The list of the genesis at a second: its own certificate, and others with their states since a second."""
    entries = [listed(ROOT, START, "active")]
    for text, states in histories:
        seen = [(since, state) for since, state in states if since < at + sees_own_second]
        if seen:
            entries.append(listed(text, *seen[-1]))
    return GENESIS.sign(
        {
            "kind": "fed.licence-list.v1",
            "issuer": {"trust_domain": "genesis.example", "name": "genesis.example", "kid": GENESIS.kid},
            "generated_at": at,
            "licences": entries,
        },
        "licence-list+jws",
    )


def listed(text: str, since: int, state: str) -> dict[str, Any]:
    certificate = read_certificate(text)
    return {**certificate.listed, "hash": certificate.hash, "state": state, "updated_at": since}


def judged(at: int, *lists: str, text: str = FRAME, root: str | None = None) -> LicenceVerdict:
    verdict = verify_licence_as_of(
        text,
        [ROOT, FRAME],
        datetime.fromtimestamp(at, UTC),
        root_hash=root or licence_hash(ROOT),
        lists=lists,
    )
    assert verdict.is_valid == (verdict.code == "verified") == all(step.holds for step in verdict.steps)
    return verdict


@pytest.mark.parametrize(("second", "code"), [(-1, "unverified"), (0, "revoked"), (1, "revoked")])
def test_a_later_list_decides_only_from_the_second_on_in_which_a_revocation_took_effect(
    second: int, code: str
):
    verdict = judged(REVOKED_AT + second, issued_list(REVOKED_AT + DAY, (FRAME, REVOKED)))
    assert verdict.code == code
    assert ("changed_later: " in verdict.reason) == (code == "unverified")


@pytest.mark.parametrize(("second", "code"), [(-1, "verified"), (0, "revoked"), (1, "revoked")])
def test_with_a_list_from_before_a_revocation_the_licence_counts_until_its_last_second(
    second: int, code: str
):
    before = issued_list(REVOKED_AT - 60, (FRAME, REVOKED))
    after = issued_list(REVOKED_AT + DAY, (FRAME, REVOKED))
    assert judged(REVOKED_AT + second, before, after).code == code


def test_a_later_list_states_that_a_licence_was_active_since_before_the_moment():
    later = issued_list(REVOKED_AT + 40 * DAY, (FRAME, REVOKED[:1]))
    verdict = judged(REVOKED_AT, later)
    assert (verdict.code, verdict.as_of) == ("verified", datetime.fromtimestamp(REVOKED_AT, UTC))


@pytest.mark.parametrize(("second", "code"), [(-1, "not_yet_valid"), (0, "verified")])
def test_a_licence_counts_from_the_second_of_its_issue_on(second: int, code: str):
    assert judged(START + 100 + second, issued_list(START + DAY, (FRAME, REVOKED[:1]))).code == code


@pytest.mark.parametrize(("second", "code"), [(-1, "verified"), (0, "expired")])
def test_a_licence_that_expired_later_counts_until_its_end(second: int, code: str):
    states: States = ((START + 100, "expired"),)
    assert judged(START + 90 * DAY + second, issued_list(START + 91 * DAY, (FRAME, states))).code == code


@pytest.mark.parametrize(("days", "code"), [(0, "verified"), (1, "unverified")])
def test_a_list_from_before_the_moment_counts_for_seven_days(days: int, code: str):
    before = issued_list(START + DAY, (FRAME, REVOKED[:1]))
    verdict = judged(START + 8 * DAY + days, before)
    assert verdict.code == code


def test_a_suspension_that_was_lifted_is_seen_only_by_a_list_of_that_time():
    states: States = ((START + 100, "active"), (START + 200, "suspended"), (START + 300, "active"))
    lists = [issued_list(second, (FRAME, states)) for second in (START + 150, START + 250, START + 350)]
    assert [judged(START + second, *lists).code for second in (199, 200, 299, 300)] == [
        "verified",
        "suspended",
        "suspended",
        "verified",
    ]
    assert judged(START + 250, lists[2]).code == "unverified"


def test_a_renewed_licence_whose_key_is_covered_counts_and_one_of_another_key_does_not():
    renewed_at = START + 5 * DAY
    old: States = ((START + 100, "active"), (renewed_at, "superseded"))
    new: States = ((renewed_at, "active"),)
    for key, code in ((FRAME_KEY.jwk, "verified"), (TestIssuer("other.example").jwk, "superseded")):
        renewal = GENESIS.sign(GENESIS.payload("frame", "frame.example", key=key, iat=renewed_at))
        later = issued_list(renewed_at + DAY, (FRAME, old), (renewal, new))
        verdict = verify_licence_as_of(
            FRAME,
            [ROOT, renewal],
            datetime.fromtimestamp(renewed_at, UTC),
            root_hash=licence_hash(ROOT),
            lists=[later],
        )
        assert verdict.code == code
        assert judged(renewed_at - 1, later).code == "unverified"


def test_a_list_cannot_take_back_a_revocation_or_contradict_one_before_it():
    revoked = issued_list(START + 300, (FRAME, ((START + 200, "revoked"),)))
    rewritten = issued_list(START + 400, (FRAME, ((START + 100, "active"),)))
    assert judged(START + 350, revoked, rewritten).code == "revoked"
    active = issued_list(START + 300, (FRAME, ((START + 100, "active"),)))
    suspended = issued_list(START + 400, (FRAME, ((START + 200, "suspended"),)))
    assert judged(START + 350, active, suspended).code == "suspended"
    backdated = issued_list(START + 400, (FRAME, ((START + 100, "superseded"),)))
    assert not judged(START + 350, active, backdated).is_valid


def test_a_changed_list_another_root_and_two_first_lists_decide_nothing():
    later = issued_list(REVOKED_AT + DAY, (FRAME, REVOKED[:1]))
    other = issued_list(REVOKED_AT + DAY, (FRAME, ((START + 101, "active"),)))
    assert judged(REVOKED_AT, later).code == "verified"
    assert judged(REVOKED_AT, later, other).code == "unverified"
    assert judged(REVOKED_AT, later, root="0" * 64).code == "untrusted_root"
    head, payload, signature = later.split(".")
    swapped = f"{head}.{other.split('.')[1]}.{signature}"
    assert payload != other.split(".")[1]
    assert judged(REVOKED_AT, swapped).code == "unverified"
    assert judged(REVOKED_AT, "no list").code == "malformed"


def test_a_verdict_for_a_moment_never_changes_by_lists_that_are_published_later():
    rng = random.Random(printed_seed())
    for _ in range(by_tier(60, 400, 2_000)):
        changes: list[tuple[int, str]] = [(START + 100, "active")]
        for second in sorted(rng.sample(range(101, 160), 4)):
            state = {"active": ["suspended", "revoked"], "suspended": ["active", "revoked"]}.get(
                changes[-1][1]
            )
            if state is not None:
                changes.append((START + second, rng.choice(state)))
        seconds = sorted(rng.sample(range(START + 90, START + 180), 8))
        lists = [issued_list(second, (FRAME, tuple(changes))) for second in seconds]
        at = rng.randrange(START + 100, START + 165)
        published = [judged(at, *lists[:count]) for count in range(len(lists) + 1)]
        first_after = next(count for count, second in enumerate(seconds, 1) if second > at)
        assert len({verdict.code for verdict in published[first_after:]}) == 1, (changes, seconds, at)
        final = published[-1]
        if final.is_valid:
            assert final.as_of is not None
            known = int(final.as_of.timestamp())
            assert "active" in {state_at(changes, known), state_at(changes, known - 1)}
        if final.as_of == datetime.fromtimestamp(at, UTC) and at not in seconds:
            assert final.code == {"active": "verified"}.get(state_at(changes, at), state_at(changes, at))


def state_at(changes: list[tuple[int, str]], second: int) -> str:
    return next((state for since, state in reversed(changes) if since <= second), "not issued")


def test_the_command_judges_a_licence_as_of_a_time(tmp_path: Path):
    document, lists = tmp_path / "licence.json", tmp_path / "list.json"
    document.write_text(json.dumps({"certificate": FRAME, "chain": [ROOT]}))
    lists.write_text(json.dumps({"list": issued_list(REVOKED_AT + DAY, (FRAME, REVOKED))}))

    def verified(second: int, *options: str) -> tuple[int, Any]:
        at = datetime.fromtimestamp(second, UTC).isoformat()
        arguments = [str(document), "--list", str(lists), "--root", licence_hash(ROOT), "--at", at]
        ended = CliRunner().invoke(app, ["verify", "licence", *arguments, *options])
        return ended.exit_code, ended.stdout

    code, shown = verified(REVOKED_AT, "--json")
    assert (code, json.loads(shown)["code"], json.loads(shown)["then"]) == (1, "revoked", "not valid")
    code, shown = verified(REVOKED_AT - 1, "--json")
    assert (code, json.loads(shown)["code"], json.loads(shown)["then"]) == (1, "unverified", "unverified")
    code, shown = verified(REVOKED_AT)
    assert (code, shown.splitlines()[-1]) == (1, "not valid at 2027-01-25T08:00:00+00:00")
