"""The examples of the guide: a model of each framework finds an agent, quotes and pays, and stays within its limits."""

import asyncio
import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.agent_frameworks.tools import installed
from tests.client.clean_environment import ROOT, declared, extras
from tests.conversations.test_buying import RESULT, Service, service
from tests.doors.guides import EXAMPLE, GUIDES
from tests.pinned_tools import REQUIREMENTS
from tests.properties.scale import by_tier
from tests.registry import TestAgent

__all__ = ["service"]

HERE = Path(__file__).parent
LIGHT = ("langchain", "openai_agents", "pydantic_ai")
# CrewAI brings 150 packages with 800 MB, which is too much for each commit.
FRAMEWORKS = by_tier(LIGHT, (*LIGHT, "crewai"), (*LIGHT, "crewai"))
LOCKED = re.compile(r"^([a-z0-9-]+)(?:\[[a-z,]+\])?==([^ ]+)", re.MULTILINE)
QUIET = {
    "OPENAI_AGENTS_DISABLE_TRACING": "1",
    "OTEL_SDK_DISABLED": "true",
    "CREWAI_DISABLE_TELEMETRY": "true",
}


def examples() -> dict[str, str]:
    """The examples of the guide by the functions that make their tools."""
    found = EXAMPLE.findall((GUIDES / "agent-frameworks.md").read_text())
    return {re.findall(r"(\w+)_tools\(", one)[0]: one for one in found}


def test_each_framework_has_an_example():
    assert {*examples()} == {*LIGHT, "crewai"}


@pytest.mark.parametrize(
    ("name", "own"),
    [("agent_frameworks", ("langchain", "openai-agents", "pydantic-ai")), ("crewai", ("crewai",))],
)
def test_the_extras_admit_the_frameworks_that_are_tested_here(name: str, own: tuple[str, ...]):
    locked = dict(LOCKED.findall((REQUIREMENTS / f"{name}.txt").read_text()))
    wanted = [*declared(), *extras(*own)]
    assert [str(one) for one in wanted if locked.get(one.name) not in one.specifier] == []


async def test_a_model_of_each_framework_pays_a_quote_once_and_no_more_than_its_limits(
    service: Service, tmp_path: Path
):
    registry = service.payments.registry
    await registry.indexed()
    payers = {name: await registry.agent(name=f"Payer of {name}") for name in FRAMEWORKS}
    async with registry.listening() as address:
        printed = await asyncio.gather(
            *(run(name, payer, f"http://{address}", tmp_path / name) for name, payer in payers.items())
        )
    for payer, (answers, paid) in zip(payers.values(), printed, strict=True):
        found, quote, bought, again, _, second, refused = answers
        payee = service.payments.service.did
        assert [one["price"] for one in found["agents"] if one["agent"] == payee] == ["2.5 AVT"]
        assert (quote["price"], quote["total"], quote["budget_left"]) == ("2.5 AVT", "2.5125 AVT", "5")
        assert (bought["status"], bought["answer"]["result"], bought["budget_left"]) == (
            "settled",
            RESULT,
            "2.5",
        )
        assert again == bought
        assert (second["status"], second["budget_left"]) == ("settled", "0.0")
        assert refused["error"]["code"] == "BUDGET_EXCEEDED"
        assert (paid, await payer.balance()) == ("paid 5.0", "94.975")
    assert len(service.calls) == 2 * len(FRAMEWORKS)


async def run(name: str, payer: TestAgent, address: str, directory: Path) -> tuple[Any, str]:
    """The answers of the tools, and the last line, of the example of a framework in a directory of its own."""
    tools = await asyncio.to_thread(installed, "crewai" if name == "crewai" else "agent_frameworks")
    example = place(name, payer, directory)
    environment = {"REGISTRY": address, "PYTHONPATH": str(ROOT / "src"), "HOME": str(directory), **QUIET}
    process = await asyncio.create_subprocess_exec(
        tools.python,
        example,
        cwd=directory,
        env=environment,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    output, complaint = [one.decode() for one in await process.communicate()]
    assert process.returncode == 0, output + complaint
    text, paid = output.splitlines()[-2:]
    return json.loads(text), paid


def place(name: str, payer: TestAgent, directory: Path) -> Path:
    """The example of a framework beside the files that it reads."""
    directory.mkdir()
    shutil.copy(HERE / "scripted.py", directory)
    (directory / "model.py").write_text(f"import scripted\n\nmodel = scripted.{name}()\n")
    (directory / "agent.json").write_text(json.dumps(payer.created))
    example = directory / "example.py"
    example.write_text(examples()[name])
    return example
