"""The guide to a first agent, taken from its Markdown and followed to the letter in one shell."""

import asyncio
import json
import re
import sys
from pathlib import Path

from tests.doors.served import served

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "first-agent.md"
SHELL_SECONDS = 90
BLOCK = re.compile(r"^```(\w+) ?(\S*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def script() -> str:
    """Every block in its order: commands as they stand, programs saved under their names."""
    lines = []
    for language, name, text in BLOCK.findall(GUIDE.read_text()):
        assert (language, bool(name)) in {("sh", False), ("python", True)}, (language, name)
        lines.append(text if language == "sh" else f"cat > {name} <<'PROGRAM'\n{text}PROGRAM\n")
    return "".join(lines)


async def follow(registry, directory: Path) -> str:
    """What the shell printed; every command succeeded."""
    shell = await asyncio.create_subprocess_exec(
        "sh",
        "-eu",
        "-c",
        script(),
        cwd=directory,
        env={
            "PATH": f"{Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin",
            "TMPDIR": str(directory),
            "REGISTRY": registry.settings.base_url + "/api/v1",
        },
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, errors = await asyncio.wait_for(shell.communicate(), SHELL_SECONDS)
    assert (shell.returncode, errors.decode()) == (0, ""), out.decode()
    return out.decode()


async def test_every_command_of_the_guide_succeeds_and_does_what_it_says(start_registry, tmp_path):
    async with served(start_registry) as registry:
        told = await follow(registry, tmp_path)
        answers = [json.loads(line) for line in told.splitlines() if line.startswith("{")]
        (did,) = [line for line in told.splitlines() if line.startswith("did:")]
        (me,) = [answer for answer in answers if "roles" in answer and "client_id" in answer]
        assert (me["did"], me["status"], me["name"]) == (did, "active", "Translator")
        assert f"signed with {did}#key-1" in told.splitlines()
        (balance,) = [answer for answer in answers if set(answer) == {"agent_id", "balance"}]
        assert balance == {"agent_id": did, "balance": "100"}
        assert answers[-1]["status"] == "revoked"
        document = (await registry.http.get(f"/api/v1/agents/{did}/did.json")).json()
        assert document["authentication"] == [f"{did}#key-2"]
