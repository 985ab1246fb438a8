"""Guides as a reader follows them: each block of commands of the rendered page, pasted into an interactive shell."""

import asyncio
import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from html.parser import HTMLParser
from pathlib import Path

import httpx2
import pexpect
from markdown_it import MarkdownIt

from tests import debian_packages
from tests.properties.scale import by_tier

ROOT = Path(__file__).parents[2]
GUIDES = ROOT / "docs" / "guides"
EXAMPLE = re.compile(r"^```\w+\n(.*?)^```$", re.MULTILINE | re.DOTALL)
"""Code block of a Markdown file."""
BLOCK_SECONDS = 300
PASTE_BYTES = 1024
DEBIAN_PATH = "/usr/local/bin:/usr/bin:/bin:/usr/local/games:/usr/games"
README_ADDRESS = "http://127.0.0.1:8000"
PROMPT = "<<prompt>>"
STARTED = "<<started>>"
FAILED = re.compile(r"<<failed (\d+)>>")
COMPLAINT = re.compile(r"command not found|syntax error|parse error|Traceback \(most recent call last\)")
ESCAPE_SEQUENCE = re.compile(r"\x1b(?:\[[0-9;?]*[A-Za-z]|[=>])")

# The prompt, a mark before the output of each command, and a mark at each command that fails: nothing else differs from
# the shell of a reader.
START_FILES = {
    "bash": (
        ".bashrc",
        f"PS1='{PROMPT}' PS0='{STARTED}'\nset -o errtrace\ntrap 'printf \"<<failed %s>>\" $? > /dev/tty' ERR\n",
    ),
    "zsh": (
        ".zshrc",
        f"PROMPT='{PROMPT}'\nunsetopt PROMPT_SP\npreexec() {{ printf '{STARTED}' }}\nTRAPZERR() {{ printf '<<failed %s>>' $? > /dev/tty }}\n",
    ),
}
SHELLS = tuple(START_FILES)


def shells_of_walk(place: int) -> tuple[str, ...]:
    """Shells of the walk at this place of an order: with each commit one, by turns; in the deeper tiers each."""
    return by_tier((SHELLS[place % len(SHELLS)],), SHELLS, SHELLS)


@cache
def program_of(shell: str) -> str:
    """Path of a shell; Debian's package is installed where it is absent."""
    found = shutil.which(shell, path=DEBIAN_PATH)
    if found is None:
        debian_packages.install(shell)
        found = shutil.which(shell, path=DEBIAN_PATH)
    assert found, f"{shell} is needed: apt-get install {shell}"
    return found


class _Commands(HTMLParser):
    """Blocks of commands of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.blocks: list[str] = []
        self._is_inside = False
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "code" and ("class", "language-sh") in attrs:
            self._is_inside = True
            self.blocks.append("")

    def handle_endtag(self, tag: str) -> None:
        if tag == "code":
            self._is_inside = False

    def handle_data(self, data: str) -> None:
        if self._is_inside:
            self.blocks[-1] += data


async def blocks_of_guide(guide: str, registry_address: str) -> list[str]:
    """Blocks of commands of a guide, from its page at the registry."""
    async with httpx2.AsyncClient(base_url=registry_address, trust_env=False, timeout=60) as http:
        answer = await http.get(f"/guides/{guide.removesuffix('.md')}")
    assert answer.status_code == 200, answer.text
    return _Commands(answer.text).blocks


def settings_of_guide(guide: str) -> list[dict[str, str]]:
    """Settings files of a guide, in its order."""
    files = re.findall(r"^```properties\n(.*?)^```$", (GUIDES / guide).read_text(), re.MULTILINE | re.DOTALL)
    return [dict(line.split("=", 1) for line in file.splitlines()) for file in files]


def blocks_of_readme(registry_address: str) -> list[str]:
    """Blocks of commands of the README, which names the address of a registry after `make run`."""
    page = MarkdownIt("commonmark").render((ROOT / "README.md").read_text())
    return [block.replace(README_ADDRESS, registry_address) for block in _Commands(page).blocks]


async def follow(
    guide: str, registry_address: str, home: Path, *, shell: str = "bash", directory: Path = ROOT
) -> str:
    """Output of all commands of a guide; every command succeeds."""
    return await paste(await blocks_of_guide(guide, registry_address), home, shell=shell, directory=directory)


async def paste(
    blocks: list[str],
    home: Path,
    *,
    shell: str = "bash",
    directory: Path = ROOT,
    as_account: Sequence[str] = (),
) -> str:
    """Output of these blocks, pasted one after the other into one interactive shell of a user; every command succeeds.

    `as_account` is a command in front of the shell that makes it another account's.
    """
    return await asyncio.to_thread(_paste, blocks, home, shell, directory, as_account)


def _paste(blocks: list[str], home: Path, shell: str, directory: Path, as_account: Sequence[str]) -> str:
    with open_shell(home, shell=shell, directory=directory, as_account=as_account) as run:
        return "".join(map(run, blocks))


@contextmanager
def open_shell(
    home: Path, *, shell: str = "bash", directory: Path = ROOT, as_account: Sequence[str] = ()
) -> Iterator[Callable[[str], str]]:
    """An interactive shell of a user: a function that pastes a block, whose commands all succeed, and returns the output."""
    name, text = START_FILES[shell]
    (home / name).write_text(text)
    environment = {
        "HOME": str(home),
        "PATH": DEBIAN_PATH,
        "TERM": "xterm",
        "LANG": "C.UTF-8",
        "TMPDIR": str(home),
    }
    program, *arguments = [*as_account, program_of(shell), "-i"]
    terminal = pexpect.spawn(
        program,
        arguments,
        cwd=str(directory),
        env=environment,  # type: ignore[arg-type]
        encoding="utf-8",
        timeout=BLOCK_SECONDS,
        dimensions=(50, 200),
    )
    try:
        terminal.expect_exact(PROMPT)
        yield lambda block: _paste_block(terminal, block.rstrip("\n"))
    finally:
        terminal.close(force=True)


def _paste_block(terminal: pexpect.spawn, block: str) -> str:
    pasted = f"\x1b[200~{block}\x1b[201~"
    for start in range(0, len(pasted), PASTE_BYTES):
        terminal.send(pasted[start : start + PASTE_BYTES])
    terminal.send("\r")
    terminal.expect_exact([PROMPT])
    _, _, printed = (terminal.before or "").partition(STARTED)
    output = ESCAPE_SEQUENCE.sub("", printed.replace(STARTED, "")).replace("\r\n", "\n")
    failed = FAILED.search(output) or COMPLAINT.search(output)
    assert printed, f"the shell ran nothing of:\n{block}"
    assert failed is None, f"{block}\n\n{output}"
    return output
