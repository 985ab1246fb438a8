"""Page that connects an AI client to the tools of this registry: one line to copy for each common client."""

import base64
import json
from collections.abc import Sequence
from typing import Annotated
from urllib.parse import quote

import msgspec
from fastapi import APIRouter, Depends, Request
from fastapi.responses import HTMLResponse

from hansa.doors.console.access.cookies import SESSION
from hansa.doors.console.access.pages import form_page
from hansa.foundation.plumbing.process.runtime import Config, Db
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.caller import SPENT_UNDER_GRANTS, Public, SpentUnderGrants
from hansa.foundation.plumbing.web.cookies import cookie_of
from hansa.foundation.plumbing.web.lazy_routes import LazyRoute
from hansa.foundation.plumbing.web.limits import within_read_limit
from hansa.rooms import people

router = APIRouter(
    include_in_schema=False,
    default_response_class=HTMLResponse,
    route_class=LazyRoute,
    dependencies=[Depends(within_read_limit)],
)

Spent = Annotated[SpentUnderGrants, Depends(SPENT_UNDER_GRANTS.given)]


class AiClient(msgspec.Struct, frozen=True):
    """A client with the line that connects it. `words` recognise its connection by name and host; `place` says where the line goes."""

    name: str
    place: str
    line: str
    words: tuple[str, ...]
    opens: str | None = None

    def is_seen_in(self, connections: Sequence[people.ConnectionOut]) -> bool:
        """Return whether one of the person's connections is of this client and was used."""
        return any(
            one.last_used_at is not None
            and any(word in f"{one.client_name} {one.client_host}".lower() for word in self.words)
            for one in connections
        )


def ai_clients(name: str, address: str) -> list[AiClient]:
    """Common clients, each with its line for a registry of this name whose tools stand at this address."""
    server = json.dumps({"name": name, "type": "http", "url": address}, separators=(",", ":"))
    configured = base64.b64encode(json.dumps({"url": address}).encode()).decode()
    return [
        AiClient(
            "Claude Code",
            "Terminal",
            f"claude mcp add --transport http {name} {address}",
            ("claude code", "claude-code"),
        ),
        AiClient(
            "Claude",
            "Settings, Connectors, Add custom connector",
            address,
            ("claude.ai", "claude desktop", "anthropic"),
        ),
        AiClient("ChatGPT", "Settings, Apps, Advanced, Create", address, ("chatgpt", "openai.com")),
        AiClient(
            "Cursor",
            "~/.cursor/mcp.json",
            json.dumps({"mcpServers": {name: {"url": address}}}),
            ("cursor",),
            f"cursor://anysphere.cursor-deeplink/mcp/install?name={quote(name)}&config={quote(configured, safe='')}",
        ),
        AiClient(
            "VS Code", "Terminal", f"code --add-mcp '{server}'", ("visual studio code", "vscode", "vs code")
        ),
        AiClient("Codex", "Terminal", f"codex mcp add {name} --url {address}", ("codex",)),
        AiClient("Gemini CLI", "Terminal", f"gemini mcp add --transport http {name} {address}", ("gemini",)),
        AiClient(
            "Windsurf",
            "~/.codeium/windsurf/mcp_config.json",
            json.dumps({"mcpServers": {name: {"serverUrl": address}}}),
            ("windsurf", "codeium"),
        ),
        AiClient("Clients without HTTP", "Terminal", f"npx mcp-remote {address}", ("mcp-remote",)),
    ]


@router.get("/connect")
async def show_connect(_: Public, request: Request, db: Db, settings: Config, spent: Spent) -> HTMLResponse:
    """Show each common client with its line; for a person who is logged in, the clients that were seen."""
    token = cookie_of(request, settings, SESSION)
    session = await people.check_browser_session(db, token) if token else None

    async def read(tx: Tx) -> list[people.ConnectionOut]:
        if session is None:
            return []
        found, _ = await people.living_connections(
            tx, session.developer.id, limit=people.GRANTS_MAX, offset=0
        )
        return await people.connections_view(tx, found, spent)

    connections = await db.read(read) if session else []
    clients = ai_clients(settings.registry_name, f"{settings.base_url}/mcp")
    return form_page(
        request,
        "connected/connect.html",
        clients=[(client, client.is_seen_in(connections)) for client in clients],
        address=f"{settings.base_url}/mcp",
        connections=len(connections),
        is_person=session is not None,
    )
