"""Build the project of an agent: templates, and the owner's texts as JSON beside them."""

import json
from typing import Any

from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.caller import Developer
from hansa.foundation.values.rights import Right
from hansa.rooms import agents

from .archive import archive_of
from .rules import require_members
from .schemas import AgentProjectIn
from .templates import template_files

# Address of a project that runs on its author's machine.
LOCAL_ADDRESS = "http://127.0.0.1:8080"
A2A_PATH, MCP_PATH = "/a2a", "/mcp"
SKILL_ID = "answer"
WRAPPER_TIMEOUT_SECONDS = 30
MARKUP = {ord(sign): f"\\u{ord(sign):04x}" for sign in "<>&"}


async def build_project(tx: Tx, developer: Developer, asked: AgentProjectIn, settings: Settings) -> bytes:
    """The project as an archive; nothing is stored. Raises: MemberInvalid, AgentUnknown, OrgRoleRequired."""
    require_members(asked.agent_builder_type, asked.model_dump())
    if asked.agent_did is not None:
        await agents.require_caller(tx, developer, asked.agent_did, Right.OPERATE)
    files = {
        **template_files(asked.agent_builder_type, settings.base_url),
        "agent.json": _as_file(_agent(asked, settings)),
        "agent-card.json": _as_file(_card(asked, settings)),
    }
    return archive_of(files)


def _agent(asked: AgentProjectIn, settings: Settings) -> dict[str, Any]:
    stated = asked.model_dump(exclude_none=True)
    if asked.agent_builder_type == "simple_wrapper":
        stated.setdefault("wrapper_timeout_seconds", WRAPPER_TIMEOUT_SECONDS)
    return {**stated, "currency": settings.settlement_currency, "registry_url": settings.base_url}


def _card(asked: AgentProjectIn, settings: Settings) -> dict[str, Any]:
    is_mcp = asked.agent_builder_type == "mcp_server"
    interface = {
        "url": LOCAL_ADDRESS + (MCP_PATH if is_mcp else A2A_PATH),
        "protocolBinding": "MCP" if is_mcp else "JSONRPC",
        "protocolVersion": "2025-11-25" if is_mcp else "1.0",
    }
    card: dict[str, Any] = {
        "name": asked.agent_name,
        "description": asked.agent_description,
        "version": "1.0.0",
        "supportedInterfaces": [interface],
        "capabilities": {},
        "defaultInputModes": ["text/plain"],
        "defaultOutputModes": ["text/plain"],
        "skills": [{"id": SKILL_ID, "name": asked.agent_name, "description": asked.agent_description}],
    }
    if asked.human_readable_id is not None:
        card["humanReadableId"] = asked.human_readable_id
    if asked.price is not None:
        card["pricing"] = {
            "model": "per_request",
            "base_rate": asked.price,
            "currency": settings.settlement_currency,
            "payment_required": True,
        }
    return card


def _as_file(document: dict[str, Any]) -> bytes:
    # In ASCII and without the signs of markup: no program that shows the file acts on a character of it.
    text = json.dumps(document, indent=2, sort_keys=True).translate(MARKUP)
    return (text + "\n").encode("ascii")
