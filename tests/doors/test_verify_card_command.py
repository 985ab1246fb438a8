"""`hansa verify card`: an exported card is judged from the terminal, by its address or as a file."""

import asyncio
import json
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from typer.testing import CliRunner

from hansa.doors.commands.program import app
from hansa.rooms import federation
from tests.operation.registry_process import run

VECTORS = Path(__file__).parents[1] / "vectors" / "cards"


@dataclass(frozen=True)
class Said:
    """Exit code and output of a command."""

    code: int
    output: str
    complaint: str


async def verify(*arguments: object) -> Said:
    ended = await asyncio.to_thread(
        CliRunner().invoke, app, ["verify", "card", *(str(one) for one in arguments)]
    )
    return Said(ended.exit_code, ended.stdout, ended.stderr)


@pytest.fixture
def files(tmp_path):
    """A frozen card and its keys as files."""

    def of(name):
        vector = json.loads((VECTORS / f"{name}.json").read_text())
        card, keys = tmp_path / f"{name}.json", tmp_path / f"{name}-keys.json"
        card.write_text(vector["card"])
        keys.write_text(json.dumps(vector["keys"]))
        return card, f"--keys={keys}", f"--at={vector['at']}"

    return of


async def test_a_card_is_judged_behind_its_address_with_the_keys_of_its_host(registry, tmp_path):
    async def verify(*arguments):
        # Another process: what the registry logs here is not among what the command prints.
        return await run("verify", "card", *arguments, data_dir=tmp_path)

    agent = await registry.agent(pricing={"model": "per-request", "base_rate": 0.05})
    async with registry.listening() as place:
        address = f"http://{place}/api/v1/agents/{agent.did}/card-export"
        said = await verify(address)
        assert (said.code, said.complaint) == (0, "")
        assert said.output.endswith("ok   signature: the whole document is as it was signed\nverified\n")

        returned = json.loads((await verify(address, "--json")).output)
        assert (returned["valid"], returned["code"], len(returned["steps"])) == (True, "verified", 5)
        assert returned["kid"] == "spiffe://hansa.local/registry/hansa#1"

        # As of another moment the history of keys is asked, which states when each began and ended.
        await registry.database.transaction(
            lambda tx: federation.rotate_key(tx, registry.settings, registry.runtime.seal)
        )
        now = datetime.now(UTC)
        for at, code in ((now, "verified"), (now - timedelta(days=1), "from_the_future")):
            said = await verify(address, f"--at={at.isoformat()}")
            assert said.output.splitlines()[-2] == code

        said = await verify(f"http://{place}/api/v1/agents/nobody/card-export")
        assert (said.code, said.output) == (2, "")
        assert said.complaint.strip().endswith("returned status 404.")


async def test_a_card_in_a_file_is_judged_by_the_keys_that_are_given(files):
    said = await verify(*files("valid"))
    assert (said.code, said.output.splitlines()[-2]) == (0, "verified")
    said = await verify(*files("price_changed"))
    assert (said.code, said.output.splitlines()[-3:-1]) == (
        1,
        ["FAIL signature: the document is not what was signed", "bad_signature"],
    )
    said = await verify(*files("only_the_a2a_profile"), "--json")
    assert (said.code, json.loads(said.output)["code"]) == (1, "profile_missing")


async def test_what_cannot_be_read_is_reported_in_one_line(files, tmp_path):
    card, keys, at = files("valid")
    _, small_keys, _ = files("key_of_small_order_0")
    for arguments, error in (
        ((card,), "--keys https://REGISTRY/.well-known/registry-jwks.json"),
        ((tmp_path / "none.json", keys), "cannot be read"),
        ((card, f"--keys={tmp_path / 'none.json'}"), "cannot be read"),
        ((card, f"--keys={card}"), "contains no usable keys"),
        ((card, small_keys), "of small order"),
        (
            ("ftp://registry.example/card",),
            "URL must start with http:// or https://, got 'ftp://registry.example/card'",
        ),
        (("http://127.0.0.1:1/card",), "cannot connect to 127.0.0.1:1: connection refused"),
        ((card, keys, "--at=yesterday"), "--at 'yesterday' is invalid"),
        ((card, keys, "--at=2026-01-01T00:00:00"), "is invalid"),
        (("http://registry.example.org/card",), "https is required"),
        (("https://[::1/card",), "cannot be read"),
    ):
        said = await verify(*arguments)
        assert (said.code, said.output) == (2, ""), arguments
        assert said.complaint.startswith("hansa: ")
        assert error in said.complaint
        assert said.complaint.count("\n") == 1
    assert at
