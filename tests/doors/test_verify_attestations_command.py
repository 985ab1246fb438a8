"""`hansa verify attestations`: an export and a registry are judged from the terminal; exit 0, 1 and 2."""

import asyncio
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from hansa.doors.commands.program import app
from hansa.rooms import auditor
from tests.verifier.served import VECTORS

CHAINS = VECTORS / "attestations"


def verify(*arguments: object) -> tuple[int, str]:
    ended = CliRunner().invoke(app, ["verify", "attestations", *(str(one) for one in arguments)])
    return ended.exit_code, ended.stdout + ended.stderr


def export_of(name: str, directory: Path) -> Path:
    file = directory / f"{name}.json"
    file.write_text(json.loads((CHAINS / f"{name}.json").read_text())["export"])
    return file


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("unknown_key", "C1"),
        ("payload_changed", "C2"),
        ("signature_of_another", "C3"),
        ("record_removed", "C4"),
        ("envelope_of_another_time", "C5"),
        ("delta_wrong", "C6"),
        ("status_ok_in_a_breach", "C7"),
        ("position_falls", "C8"),
    ],
)
def test_a_chain_that_does_not_hold_is_exit_1_and_names_the_check(name: str, code: str, tmp_path: Path):
    export = export_of(name, tmp_path)
    exit_code, said = verify(export, "--json")
    judged = json.loads(said)
    assert (exit_code, judged["valid"], judged["code"]) == (1, False, code)
    assert next(step for step in judged["steps"] if step["name"] == code)["holds"] is False
    exit_code, said = verify(export)
    assert exit_code == 1
    assert said.splitlines()[-1].startswith(f"{code}: ")


def test_a_valid_chain_is_exit_0_and_warns_of_its_own_keys_and_of_an_old_head(tmp_path: Path):
    export = export_of("valid", tmp_path)
    exit_code, said = verify(export)
    assert exit_code == 0
    assert [line.split(":")[0] for line in said.splitlines()[-3:]] == [
        "warning unwatched", "warning keys_unproved", "verified"
    ]  # fmt: skip
    assert verify(export, "--max-age=600")[0] == 1


def test_the_keys_of_the_reader_override_those_of_the_export(tmp_path: Path):
    export = export_of("valid", tmp_path)
    keys = json.loads(export.read_text())["keys"]
    own = tmp_path / "keys.json"
    own.write_text(json.dumps({"keys": keys}))
    exit_code, said = verify(export, f"--keys={own}")
    assert (exit_code, "keys_unproved" in said) == (0, False)
    own.write_text(json.dumps({"keys": []}))
    exit_code, said = verify(export, f"--keys={own}", "--json")
    assert (exit_code, json.loads(said)["code"]) == (1, "C1")


def test_tolerances_end_with_exact(tmp_path: Path):
    export = export_of("within_tolerance", tmp_path)
    assert verify(export)[0] == 0
    assert verify(export, "--exact")[0] == 1


@pytest.mark.parametrize("content", ["", "{", "[]", '{"standard":"SA-2.0"}', '{"standard":"SA-1.0"}'])
def test_what_is_no_export_is_exit_2_in_one_line(content: str, tmp_path: Path):
    file = tmp_path / "export.json"
    file.write_text(content)
    exit_code, said = verify(file)
    assert (exit_code, len(said.splitlines())) == (2, 1)
    assert verify(tmp_path / "absent.json")[0] == 2
    assert verify(export_of("valid", tmp_path), f"--keys={file}")[0] == 2


async def test_a_registry_is_judged_by_its_address_and_its_export_offline(registry, tmp_path):
    await auditor.run_cycle(registry.runtime)
    export = tmp_path / "chain.json"
    async with registry.listening() as place:
        address = f"http://{place}"
        exit_code, said = await asyncio.to_thread(verify, address, "--exact", f"--export={export}")
        assert (exit_code, said.splitlines()[-1]) == (0, "verified: 1 records, head 1")
    assert (await asyncio.to_thread(verify, address))[0] == 2
    exit_code, said = verify(export, "--exact")
    assert (exit_code, "keys_unproved" in said) == (0, True)
