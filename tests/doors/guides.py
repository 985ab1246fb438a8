"""A guide taken from its Markdown and followed exactly in one shell."""

import asyncio
import atexit
import re
import shutil
import sys
import tempfile
from functools import cache
from pathlib import Path

from tests.operation.registry_process import COMMANDS

ROOT = Path(__file__).parents[2]
GUIDES = ROOT / "docs" / "guides"
SHELL_SECONDS = 600
BLOCK = re.compile(r"^```(\w+) ?(\S*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def script(guide: str) -> str:
    """Every block in its order: commands as they stand, programs saved under their names; other blocks are to be read."""
    lines = []
    for language, name, text in BLOCK.findall((GUIDES / guide).read_text()):
        if language == "sh":
            lines.append(text)
        elif language == "python":
            assert name, "a program of a guide has a name"
            lines.append(f"cat > {name} <<'PROGRAM'\n{text}PROGRAM\n")
    return "".join(lines)


async def follow(guide: str, registry_address: str, directory: Path, **environment: str) -> str:
    """What the shell printed, with REGISTRY set to that address; every command succeeded."""
    return await run_shell(script(guide), directory, REGISTRY=registry_address, **environment)


@cache
def hansa_as_a_fork() -> str:
    """What makes `hansa` of a shell a fork: the same program, without the second of CPU that loading it takes."""
    directory = Path(tempfile.mkdtemp(prefix="hansa-forks-"))
    atexit.register(shutil.rmtree, directory)
    return COMMANDS.shell_function(directory / "socket")


async def run_shell(commands: str, directory: Path, **environment: str) -> str:
    """What the shell printed, in the root of the checkout; every command succeeded and complained of nothing."""
    shell = await asyncio.create_subprocess_exec(
        "sh",
        "-eu",
        "-c",
        hansa_as_a_fork() + commands,
        cwd=ROOT,
        env={
            "PATH": f"{Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin",
            "TMPDIR": str(directory),
            **environment,
        },
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, errors = await asyncio.wait_for(shell.communicate(), SHELL_SECONDS)
    assert (shell.returncode, errors.decode()) == (0, ""), out.decode() + errors.decode()
    return out.decode()
