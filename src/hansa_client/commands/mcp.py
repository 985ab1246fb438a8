"""`mcp` prints the configuration of an MCP client, `mcp serve` is the program that this configuration starts."""

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .options import AgentName, AsJson, ProfileName, examples
from .profiles import DIRECTORY_VARIABLE

if TYPE_CHECKING:
    from hansa_client.calls import Answer, Call

TOKEN_VARIABLE = "HANSA_CLIENT_TOKEN"  # noqa: S105
TOKEN_PLACE = "<agent token, developer token or API key>"  # noqa: S105


@dataclass(frozen=True)
class Program:
    """The program that a client starts: its path, arguments and environment."""

    command: str
    args: list[str]
    env: dict[str, str]

    @property
    def members(self) -> dict[str, Any]:
        """The members by which the clients describe it."""
        return {"command": self.command, "args": self.args} | ({"env": self.env} if self.env else {})

    def line(self, *before: str) -> str:
        """A line for a shell that ends with this program."""
        from shlex import join

        return join([*before, self.command, *self.args])


@dataclass(frozen=True)
class McpClient:
    """A client: the place of its configuration, and the text to put there for a server of this name."""

    place: str
    text: Callable[[str, Program], Any]


class ClientName(StrEnum):
    """MCP clients with a configuration of their own; `json` is for every other one."""

    CLAUDE_CODE = "claude-code"
    CLAUDE_DESKTOP = "claude-desktop"
    CURSOR = "cursor"
    VS_CODE = "vscode"
    WINDSURF = "windsurf"
    ZED = "zed"
    JSON = "json"


def _servers(name: str, program: Program) -> dict[str, Any]:
    return {"mcpServers": {name: program.members}}


def _claude_code(name: str, program: Program) -> str:
    variables = [part for pair in program.env.items() for part in ("--env", "=".join(pair))]
    return program.line("claude", "mcp", "add", name, *variables, "--")


CLIENTS: Mapping[ClientName, McpClient] = {
    ClientName.CLAUDE_CODE: McpClient("a terminal", _claude_code),
    ClientName.CLAUDE_DESKTOP: McpClient(
        "claude_desktop_config.json (Settings, Developer, Edit Config)", _servers
    ),
    ClientName.CURSOR: McpClient("~/.cursor/mcp.json", _servers),
    ClientName.VS_CODE: McpClient(
        ".vscode/mcp.json", lambda name, program: {"servers": {name: {"type": "stdio", **program.members}}}
    ),
    ClientName.WINDSURF: McpClient("~/.codeium/windsurf/mcp_config.json", _servers),
    ClientName.ZED: McpClient(
        "~/.config/zed/settings.json",
        lambda name, program: {"context_servers": {name: {"source": "custom", **program.members}}},
    ),
    ClientName.JSON: McpClient("the configuration of the client", _servers),
}

Url = Annotated[str | None, typer.Option("--url", help="Another registry than that of the profile.")]
Gateway = Annotated[
    bool, typer.Option("--gateway", help="Offer three tools that search, describe and call the others.")
]

app = typer.Typer(help="Connect MCP clients to the tools of a registry.")


@app.callback(
    invoke_without_command=True,
    epilog=examples("hansa-client mcp --client cursor", "hansa-client mcp --client json --agent Painter"),
)
def mcp(
    context: typer.Context,
    *,
    client: Annotated[ClientName | None, typer.Option(help="Only the configuration of this client.")] = None,
    name: Annotated[str, typer.Option(help="Name of the registry in the client.")] = "hansa",
    gateway: Gateway = False,
    url: Url = None,
    agent: AgentName = None,
    profile: ProfileName = None,
    as_json: AsJson = False,
) -> None:
    """Print the configuration of common MCP clients that starts `mcp serve`; no secret is in it."""
    if context.invoked_subcommand is not None:
        return
    from .opening import reported, show

    with reported():
        program = _program(url, agent, profile, is_gateway=gateway)
        chosen = list(CLIENTS) if client is None else [client]
        texts = {one.value: CLIENTS[one].text(name, program) for one in chosen}
        shown = [f"{one.value}, in {CLIENTS[one].place}:\n{_shown(texts[one.value])}" for one in chosen]
        sentence = "\n\n".join(shown) if client is None else _shown(texts[client.value])
        show(sentence, texts, as_json=as_json)


@app.command(epilog=examples("hansa-client mcp serve --agent Painter"))
def serve(
    *,
    gateway: Gateway = False,
    url: Url = None,
    agent: AgentName = None,
    profile: ProfileName = None,
) -> None:
    """Serve the tools of a registry to the MCP client that started this program, over standard input and output.

    The credential is the token in HANSA_CLIENT_TOKEN, or else the stored agent of the profile.
    """
    import asyncio

    from .opening import reported
    from .stdio_proxy import StdioProxy

    with reported():
        sends = _Sends.of(url, agent, profile)
        mode = "gateway" if gateway else None
        proxy = StdioProxy(sends, mode=mode, program=Path(sys.argv[0]).name)

        async def run() -> None:
            try:
                await proxy.run(sys.stdin.buffer)
            finally:
                await sends.aclose()

        try:
            asyncio.run(run())
        except* OSError:
            # The client has closed its end: nobody is left to be answered.
            raise typer.Exit from None


def _program(url: str | None, agent: str | None, profile: str | None, *, is_gateway: bool) -> Program:
    """Raises: NothingStored, ValueError."""
    from hansa_client.calls import origin_of

    from .profiles import read_profiles

    arguments, variables = ["mcp", "serve"], {}
    if url is not None:
        arguments += ["--url", origin_of(url)]
        variables[TOKEN_VARIABLE] = TOKEN_PLACE
    else:
        name, stored = read_profiles().named(profile)
        arguments += ["--profile", name, "--agent", stored.chosen(agent).did]
        if directory := os.environ.get(DIRECTORY_VARIABLE):
            variables[DIRECTORY_VARIABLE] = str(Path(directory).absolute())
    arguments += ["--gateway"] if is_gateway else []
    return Program(str(Path(sys.argv[0]).absolute()), arguments, variables)


def _shown(text: Any) -> str:
    import msgspec

    return text if isinstance(text, str) else msgspec.json.format(msgspec.json.encode(text)).decode()


class _Sends:
    """Sends calls with one credential, whose token is renewed before it ends."""

    def __init__(self, url: str, login: Callable[[Any], Any]) -> None:
        from hansa_client.asynchronous.registry import TIMEOUT_SECONDS
        from hansa_client.asynchronous.transport import AsyncTransport
        from hansa_client.retries import RetryPolicy
        from hansa_client.sending import AsyncSender

        self._sender = AsyncSender(url, None)
        self._transport = AsyncTransport(self._sender, RetryPolicy(), timeout_seconds=TIMEOUT_SECONDS)
        self._session = login(self._transport)

    @classmethod
    def of(cls, url: str | None, agent: str | None, profile: str | None) -> "_Sends":
        """With the token of the environment, or as the stored agent. Raises: NothingStored, ValueError."""
        from hansa_client.asynchronous.logins import AsyncAgentLogin, AsyncDeveloperLogin
        from hansa_client.calls import origin_of
        from hansa_client.credentials import ApiKey

        from .opening import agent_credentials
        from .profiles import NothingStored, read_profiles

        token = os.environ.get(TOKEN_VARIABLE)
        if url is not None and not token:
            raise NothingStored(f"The registry of --url needs a token: set {TOKEN_VARIABLE}.")
        if token:
            origin = origin_of(url or read_profiles().named(profile)[1].url)
            return cls(origin, lambda transport: AsyncDeveloperLogin(transport, ApiKey(token)))
        name, stored = read_profiles().named(profile)
        credentials = agent_credentials(name, stored, agent)
        return cls(stored.url, lambda transport: AsyncAgentLogin(transport, credentials))

    async def __call__(self, call: "Call") -> "Answer":
        """Raises: HansaError."""
        return await self._transport.response(call, self._session)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._sender.aclose()
