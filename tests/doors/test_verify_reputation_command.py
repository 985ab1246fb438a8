"""`hansa verify reputation`: the scores of an export are recomputed from its events."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from hansa.doors.commands.program import app

VECTOR = Path(__file__).parents[1] / "vectors" / "reputation" / "small.json"


def verify(path: Path):
    return CliRunner().invoke(app, ["verify", "reputation", str(path), "--json"])


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
