"""The commands of the page, taken from the page and run one after the other by a shell, as a reader would."""

import asyncio
import json

from tests.doors.pages_read import ReadPage
from tests.doors.served import served

SHELL_SECONDS = 120


async def walk(registry, tmp_path) -> list[dict]:
    """Run every command of the page in one shell, and return the answers in order."""
    page = ReadPage((await registry.http.get("/first-steps")).text)
    script = "\n".join(page.commands)
    shell = await asyncio.create_subprocess_exec(
        "sh",
        "-eu",
        "-c",
        script,
        cwd=tmp_path,
        env={"PATH": "/usr/local/bin:/usr/bin:/bin", "TMPDIR": str(tmp_path)},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, errors = await asyncio.wait_for(shell.communicate(), SHELL_SECONDS)
    assert errors == b""
    assert shell.returncode == 0, out.decode()
    return [json.loads(line) for line in out.decode().splitlines() if line.startswith("{")]


async def test_the_first_steps_lead_to_a_payment(start_registry, tmp_path):
    async with served(start_registry) as registry:
        answers = await walk(registry, tmp_path)
        refused = [answer for answer in answers if "error" in answer]
        assert refused == []
        transfer = next(answer for answer in answers if "fee_amount" in answer)
        assert (transfer["amount"], transfer["fee_amount"]) == ("1", "0.005")
        balances = [answer["balance"] for answer in answers if set(answer) == {"agent_id", "balance"}]
        assert balances == ["98.995", "1"]
        assert answers[-1]["delta"] == "0"


async def test_discovery_in_the_first_steps_finds_the_agent_just_made(start_registry, tmp_path):
    async with served(start_registry) as registry:
        answers = await walk(registry, tmp_path)
        found = next(answer["results"] for answer in answers if "results" in answer)
        assert found[0]["name"] == "Translator"
