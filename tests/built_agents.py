"""Projects of the agent builder: requests for each type, and unpacked projects."""

import io
import zipfile
from pathlib import Path
from typing import Any

from tests.registry import TestDeveloper

ROUTE = "/agent-builder/generate"
TEXTS = {"agent_name": "Word counter", "agent_description": "Counts the words of a text."}
TYPES: dict[str, dict[str, Any]] = {
    "simple_wrapper": {"wrapper_url": "https://service.example/answer"},
    "adk_agent": {"adk_model": "gemini-2.5-flash", "adk_instruction": "Answer in one sentence."},
    "paid_function": {"price": "0.05"},
    "mcp_server": {},
}
"""Members of each type beside the texts."""

DOCUMENTS = {"agent.json", "agent-card.json"}
"""Files that have what the request states."""


def asked(builder_type: str, **members: Any) -> dict[str, Any]:
    """A request for a project of this type."""
    return {**TEXTS, "agent_builder_type": builder_type, **TYPES[builder_type], **members}


async def generated(owner: TestDeveloper, builder_type: str, **members: Any) -> bytes:
    """The archive of a project."""
    answer = await owner.registry.post(ROUTE, json=asked(builder_type, **members), headers=owner.headers)
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "application/zip"
    return answer.content


def files_of(archive: bytes) -> dict[str, bytes]:
    """The files of a project by their names in its directory."""
    with zipfile.ZipFile(io.BytesIO(archive)) as opened:
        assert opened.testzip() is None
        return {name.partition("/")[2]: opened.read(name) for name in opened.namelist()}


def unpacked(archive: bytes, directory: Path) -> Path:
    """The directory of a project below this one."""
    with zipfile.ZipFile(io.BytesIO(archive)) as opened:
        opened.extractall(directory)
    return directory / "hansa-agent"
