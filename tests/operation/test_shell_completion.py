"""Completion in the shells that are installed here: each loads the printed script and is asked to complete."""

import os
import shutil
from asyncio import create_subprocess_exec
from asyncio.subprocess import DEVNULL, PIPE
from pathlib import Path

import pytest

from tests.operation.registry_process import COMMAND, environment, run

# How each shell loads the script and prints what completes the words `$1`.
ASKING = {
    "bash": "source <(hansa completion bash); COMP_WORDS=($1); COMP_CWORD=$(( ${#COMP_WORDS[@]} - 1 ));"
    ' _hansa_completion hansa; printf "%s\\n" "${COMPREPLY[@]}"',
    "zsh": 'compdef() {}; _arguments() { print -r -- "$@" }; source <(hansa completion zsh);'
    " words=(${=1}); CURRENT=${#words}; _hansa_completion",
    "fish": "hansa completion fish | source; complete -C $argv[1]",
}
# zsh and fish number their arguments differently from bash, which takes `$0` first.
FIRST_ARGUMENT = {"bash": ["bash"], "zsh": ["zsh"], "fish": []}
INSTALLED = [shell for shell in ASKING if shutil.which(shell)]


async def completions(shell: str, words: str, home: Path) -> str:
    around = {**environment(home / "data"), "PATH": f"{COMMAND.parent}:{os.environ['PATH']}"}
    process = await create_subprocess_exec(
        *(shell, "-c", ASKING[shell], *FIRST_ARGUMENT[shell], words),
        stdin=DEVNULL,
        stdout=PIPE,
        stderr=PIPE,
        env=around,
    )
    output, complaint = await process.communicate()
    assert complaint == b""
    return output.decode()


@pytest.mark.parametrize("shell", INSTALLED)
@pytest.mark.parametrize(
    ("words", "wanted", "unwanted"),
    [
        ("hansa se", "serve", "mint"),
        ("hansa admin cr", "create", "serve"),
        ("hansa mint --am", "--amount", "--ref"),
        ("hansa completion f", "fish", "bash"),
    ],
)
async def test_the_shell_completes_commands_options_and_values(
    tmp_path: Path, shell: str, words: str, wanted: str, unwanted: str
):
    found = await completions(shell, words, tmp_path)
    assert wanted in found
    assert unwanted not in found


@pytest.mark.parametrize("shell", ASKING)
async def test_the_script_is_printed_and_no_file_is_changed(tmp_path: Path, shell: str):
    home = tmp_path / "home"
    home.mkdir()
    ended = await run("completion", shell, data_dir=home / "data")
    assert (ended.code, ended.complaint) == (0, "")
    assert "_HANSA_COMPLETE" in ended.output
    home.rmdir()


async def test_a_shell_without_completion_is_a_usage_error(tmp_path: Path):
    ended = await run("completion", "tcsh", data_dir=tmp_path / "data")
    assert ended.code == 2
    [line] = ended.complaints
    assert "'tcsh' is not one of 'bash', 'zsh', 'fish'" in line
