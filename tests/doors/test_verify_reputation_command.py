"""`hansa verify reputation`: the scores of an export are recomputed from its events."""

import json
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from hansa.doors.commands.program import app
from hansa_verify import FORMULA, read_signal, scores_of

VECTOR = Path(__file__).parents[1] / "vectors" / "reputation" / "small.json"


def verify(path: Path, *options: str):
    return CliRunner().invoke(app, ["verify", "reputation", str(path), "--json", *options])


def export_of(day: date, events: list[Any]) -> dict[str, Any]:
    """The export that a registry gives on a day: the events before it, and the scores that they give."""
    signals = [signal for signal in map(read_signal, events) if signal]
    scores = [{"agent_did": did, "score": one.score} for did, one in scores_of(signals, day).items()]
    known = [one for one in events if one["timestamp"][:10] < day.isoformat()]
    page = {"formula": FORMULA, "epoch": day.isoformat(), "events": known, "scores": scores, "next": None}
    return json.loads(json.dumps(page))


def test_an_export_whose_scores_agree_is_valid():
    ended = verify(VECTOR)
    assert ended.exit_code == 0
    found = json.loads(ended.stdout)
    assert (found["valid"], found["differing"]) == (True, [])
    stated = {one["agent_did"]: one["score"] for one in json.loads(VECTOR.read_text())["scores"]}
    assert {did: one["score"] for did, one in found["scores"].items()} == stated


def test_a_score_that_differs_by_one_is_named(tmp_path: Path):
    export = json.loads(VECTOR.read_text())
    export["scores"][0]["score"] += 1
    changed = tmp_path / "export.json"
    changed.write_text(json.dumps(export))
    ended = verify(changed)
    assert ended.exit_code == 1
    assert json.loads(ended.stdout)["differing"] == [export["scores"][0]["agent_did"]]


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"events": 5, "scores": [], "epoch": "x", "next": null}'])
def test_what_is_no_export_cannot_be_read(tmp_path: Path, text: str):
    file = tmp_path / "export.json"
    file.write_text(text)
    assert verify(file).exit_code == 2


def test_the_scores_of_an_earlier_day_follow_from_newer_events_and_agree_with_an_export_of_that_day(
    tmp_path: Path,
):
    newest = json.loads(VECTOR.read_text())
    days = sorted({one["timestamp"][:10] for one in newest["events"]})
    assert len(days) > 2
    day = date.fromisoformat(days[len(days) // 2])
    kept = export_of(day, newest["events"])
    old = tmp_path / "kept.json"
    old.write_text(json.dumps(kept))
    assert json.loads(verify(old).stdout)["valid"]
    ended = verify(VECTOR, "--at", day.isoformat(), "--stated", str(old))
    found = json.loads(ended.stdout)
    assert (ended.exit_code, found["then"], found["epoch"]) == (0, "valid", day.isoformat())
    ended = verify(VECTOR, "--at", f"{day}T23:59:59Z", "--stated", str(old))
    assert (ended.exit_code, json.loads(ended.stdout)["scores"]) == (0, found["scores"])
    kept["scores"][0]["score"] += 1
    old.write_text(json.dumps(kept))
    ended = verify(VECTOR, "--at", day.isoformat(), "--stated", str(old))
    found = json.loads(ended.stdout)
    assert (ended.exit_code, found["then"]) == (1, "not valid")
    assert found["differing"] == [kept["scores"][0]["agent_did"]]


@pytest.mark.parametrize("later_day", [False, True])
def test_scores_of_a_day_that_the_registry_does_not_state_are_unverified(later_day: bool):
    newest = json.loads(VECTOR.read_text())
    day = date.fromisoformat(newest["epoch"]) + timedelta(days=1 if later_day else -1)
    ended = verify(VECTOR, "--at", day.isoformat())
    found = json.loads(ended.stdout)
    assert (ended.exit_code, found["then"], found["differing"]) == (1, "unverified", [])
    assert found["reason"].startswith("the export has the events" if later_day else "the scores of")
    ended = verify(VECTOR, "--at", newest["epoch"])
    assert (ended.exit_code, json.loads(ended.stdout)["then"]) == (0, "valid")


def test_scores_of_a_day_never_change_by_events_of_that_day_or_later():
    events = json.loads(VECTOR.read_text())["events"]
    for day in sorted({one["timestamp"][:10] for one in events})[1:]:
        known = [one for one in events if one["timestamp"][:10] < day]
        epoch = date.fromisoformat(day)
        assert export_of(epoch, known) == export_of(epoch, events)


def test_a_day_that_is_none_is_refused():
    assert verify(VECTOR, "--at", "2027-02-30").exit_code == 2
