"""`hansa verify settlement`: another registry's signed evidence of a slash is verified offline."""

import json
from pathlib import Path

from typer.testing import CliRunner

from hansa.doors.commands.program import app
from tests.verifier.served import vectors_in
from tests.verifier.settlements import AT, FROZEN

VECTORS = {one["name"]: one for one in vectors_in(FROZEN)}


def verify(directory: Path, name: str, *arguments: str) -> tuple[int, str]:
    vector = VECTORS[name]
    (directory / "evidence.json").write_text(vector["document"])
    (directory / "keys.json").write_text(json.dumps(vector["keys"]))
    asked = ["verify", "settlement", str(directory / "evidence.json"), *arguments]
    ended = CliRunner().invoke(app, asked)
    return ended.exit_code, ended.stdout + ended.stderr


def test_evidence_in_a_file_is_verified_with_the_keys_of_the_other_registry(tmp_path: Path):
    keys = f"--keys={tmp_path / 'keys.json'}"
    exit_code, said = verify(tmp_path, "valid_award", keys, "--at", AT)
    assert (exit_code, said.splitlines()[-2]) == (0, "verified")
    assert "ok   outcome: 15 slashed, 7.00000001 awarded" in said
    exit_code, said = verify(tmp_path, "valid_confirmation", keys, "--at", AT, "--json")
    (message,) = json.loads(said)["messages"]
    assert (exit_code, message["status"], message["slashed_amount"]) == (0, "SLASHED", "12.5")


def test_what_does_not_hold_is_named_and_keys_are_required(tmp_path: Path):
    keys = f"--keys={tmp_path / 'keys.json'}"
    exit_code, said = verify(tmp_path, "facts_of_another_dispute", keys, "--at", AT)
    assert (exit_code, said.splitlines()[-2]) == (1, "facts")
    assert "FAIL facts: the facts are of another dispute" in said
    exit_code, said = verify(tmp_path, "valid_award")
    assert exit_code == 2
    assert "--keys is required" in said
