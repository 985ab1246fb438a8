"""`hansa verify achievement` on frozen statements, without a registry."""

import json
from pathlib import Path

import pytest

from tests.operation.registry_process import run
from tests.verifier.achievements import FROZEN
from tests.verifier.served import vectors_in

VECTORS = {one["name"]: one for one in vectors_in(FROZEN)}
SHOWN = ["valid", *[name for name, one in VECTORS.items() if one["expect"] == "bad_signature"][:2]]


@pytest.mark.parametrize("name", SHOWN)
async def test_a_statement_is_judged_by_the_keys_of_a_file(tmp_path: Path, name: str) -> None:
    vector = VECTORS[name]
    statement, keys = tmp_path / "statement.json", tmp_path / "keys.json"
    statement.write_text(vector["document"])
    keys.write_text(json.dumps(vector["keys"]))
    arguments = ("verify", "achievement", str(statement), f"--keys={keys}", f"--at={vector['at']}", "--json")
    ended = await run(*arguments, data_dir=tmp_path / "none")
    assert (json.loads(ended.output)["code"], ended.code == 0) == (vector["expect"], name == "valid")
    said = await run(*arguments[:-1], data_dir=tmp_path / "none")
    assert said.code == ended.code
    assert not (tmp_path / "none").exists()


async def test_a_file_that_is_no_statement_and_one_that_is_missing_are_explained_in_one_line(
    tmp_path: Path,
) -> None:
    keys, other = tmp_path / "keys.json", tmp_path / "other.json"
    keys.write_text(json.dumps(VECTORS["valid"]["keys"]))
    other.write_text("<script>")
    judged = await run("verify", "achievement", str(other), f"--keys={keys}", data_dir=tmp_path / "none")
    assert judged.code != 0
    missing = await run(
        "verify", "achievement", str(tmp_path / "no.json"), f"--keys={keys}", data_dir=tmp_path / "none"
    )
    assert missing.code != 0
    assert len(missing.complaints) == 1
