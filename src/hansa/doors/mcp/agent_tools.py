"""Skills of a local agent as tools, at an address of the agent's own or beside the tools of the registry.

- A skill is a tool with a message, or with its own input schema; one whose schema gives no tool is left out.
- The name of a tool follows from the id of its skill alone: no other skill takes it over when the card changes.
- A caller with a principal pays under an intent, which stands beside the arguments; a caller without one pays by x402.
- Free calls of callers without a principal are counted by address.
"""

import re
from collections.abc import Iterator
from hashlib import sha256
from typing import Any

import msgspec

from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.web.limits import Limit, admit, client_address
from hansa.foundation.values.errors import MemberInvalid, TooManyRequests
from hansa.foundation.values.visible_text import seen
from hansa.rooms import catalogue, commerce

from . import agent_calls
from .agent_calls import SkillCall
from .answers import Shaped
from .argument_schema import INTENT, STATED, TEXT_MAX, marked, require_arguments, usable
from .exchange import Exchange, Hints
from .principals import WALLET_PAY, InsufficientScope
from .refusals import too_many
from .tools import carried_out

TOOLS_MAX = 40
BESIDE = "agent_"
"""Beginning of the names beside the tools of the registry."""
NAME_MAX, DIGITS = 48, 6
MESSAGE_MAX = 100_000
ACTING = "as"
FREE_CALLS = Limit("mcp-agents-free", 30)

_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]+", re.ASCII)

MESSAGE: dict[str, Any] = {
    "type": "object",
    "properties": {
        "message": {
            "type": "string",
            "minLength": 1,
            "maxLength": MESSAGE_MAX,
            "description": "Text for the agent.",
        },
        "data": {"type": "object", "description": "Structured data beside the text."},
    },
    "required": ["message"],
    "additionalProperties": False,
}
INTENT_MEMBER = {
    "type": "string",
    "pattern": commerce.INTENT_ID_PATTERN,
    "description": "The intent of an answer payment_required: the same arguments are paid under it.",
}
ACTING_MEMBER = {
    "type": "string",
    "description": "DID of the acting agent, one of your own; needed by a person alone.",
}


class AgentTool(msgspec.Struct, frozen=True):
    """A skill as a tool; `schema` is None where the skill takes a message."""

    name: str
    card: catalogue.Card
    skill_id: str
    texts: str
    schema: dict[str, Any] | None
    is_paid: bool
    has_principal: bool
    is_mcp_tool: bool = False

    @property
    def scope(self) -> str | None:
        """The scope that its calls need."""
        return WALLET_PAY if self.is_paid and self.has_principal else None

    @property
    def description(self) -> str:
        """The text of the agent, cut and marked."""
        return STATED + self.texts

    @property
    def input_schema(self) -> dict[str, Any]:
        """The schema as it is shown, with the members of a payment where there may be one."""
        schema = MESSAGE if self.schema is None else marked(self.schema)
        assert isinstance(schema, dict)
        if not (self.is_paid and self.has_principal):
            return schema
        more = {INTENT: INTENT_MEMBER, **({ACTING: ACTING_MEMBER} if self._takes_acting else {})}
        return {**schema, "properties": {**schema.get("properties", {}), **more}}

    @property
    def hints(self) -> Hints:
        """The annotations: nothing is known of the work."""
        return {"read_only": False, "destructive": True, "idempotent": False, "open_world": True}

    @property
    def _takes_acting(self) -> bool:
        """The acting agent stands beside the arguments, unless the skill has an argument of this name."""
        return ACTING not in (self.schema or {}).get("properties", {})

    async def carry_out(self, exchange: Exchange, arguments: dict[str, Any]) -> Shaped:
        """The result of a call; every refusal is one."""
        act = self._admitted(exchange, {**arguments})
        return await carried_out(exchange, self.name, arguments.get(INTENT), act)

    async def _admitted(self, exchange: Exchange, arguments: dict[str, Any]) -> Shaped:
        """Raises: ValidationError, Refused."""
        is_governed = self.is_paid and exchange.principal is not None
        if self.scope is not None:
            _require_scope(exchange, self.scope)
        intent = arguments.pop(INTENT, None)
        await self._count(exchange, moves_units=is_governed and intent is not None)
        acting = arguments.pop(ACTING, None) if is_governed and self._takes_acting else None
        call = SkillCall(
            self.card,
            self.skill_id,
            self.name,
            arguments,
            self.schema is None,
            self.is_paid,
            self.is_mcp_tool,
        )
        if intent is not None:
            if not is_governed:
                raise MemberInvalid(f"{INTENT}: this call is not paid under an intent.")
            return await agent_calls.bought(exchange, call, intent)
        require_arguments(MESSAGE if self.schema is None else self.schema, arguments)
        if is_governed:
            return await agent_calls.previewed(exchange, call, acting)
        return await agent_calls.passed_on(exchange, call)

    async def _count(self, exchange: Exchange, *, moves_units: bool) -> None:
        """Raises: TooManyCalls."""
        if exchange.principal is not None:
            await exchange.admit(moves_units=moves_units)
        elif not self.is_paid:
            try:
                await admit(exchange.runtime.database, FREE_CALLS, client_address(exchange.request))
            except TooManyRequests as error:
                raise too_many(error) from None


async def tools_of_agent(runtime: Runtime, key: str, *, has_principal: bool, prefix: str) -> list[AgentTool]:
    """The tools of the local agent whose card has this UUID, DID or number. Raises: CardUnknown."""
    card = await runtime.database.query(lambda tx: catalogue.card_of(tx, key))
    if card.did is None or card.source_registry is not None or card.is_withdrawn:
        raise catalogue.CardUnknown
    tools: dict[str, AgentTool] = {}
    for tool in _tools_in(card, prefix, has_principal=has_principal):
        tools.setdefault(tool.name, tool)
        if len(tools) == TOOLS_MAX:
            break
    return list(tools.values())


def _tools_in(card: catalogue.Card, prefix: str, *, has_principal: bool) -> Iterator[AgentTool]:
    document = card.card_data or {}
    source, _ = commerce.effective_price(document)
    skills = document.get("skills")
    for skill in skills if isinstance(skills, list) else ():
        stated = skill.get("input_schema")
        schema = None if stated is None else usable(stated)
        if stated is not None and schema is None:
            continue
        texts = (skill.get("name"), skill.get("description"))
        yield AgentTool(
            prefix + _name_of(str(skill.get("id", ""))),
            card,
            str(skill.get("id", "")),
            seen(": ".join(text for text in texts if isinstance(text, str)))[:TEXT_MAX],
            schema,
            source != "none",
            has_principal,
            catalogue.TOOL_TAG in skill.get("tags", ()),
        )


def _name_of(skill_id: str) -> str:
    """The name of a tool: the id of the skill where that is a name, else a part of it with a digest of the whole."""
    name = _NOT_IN_NAMES.sub("_", skill_id)[:NAME_MAX]
    if name == skill_id and name:
        return name
    return f"{name}_{sha256(skill_id.encode()).hexdigest()[:DIGITS]}"


def _require_scope(exchange: Exchange, scope: str) -> None:
    """Raises: InsufficientScope, and the refusal of a suspended caller."""
    principal = exchange.caller
    if principal.barred is not None:
        raise principal.barred
    if scope not in principal.scopes:
        raise InsufficientScope(context={"scope": scope})
