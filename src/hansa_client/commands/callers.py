"""Callers of commands, a stored agent or the developer who is logged in: the options that all their commands have stand here once."""

import inspect
from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any

from .options import AgentName, AsJson, Key, OfOrganization, ProfileName

if TYPE_CHECKING:
    from hansa_client.synchronous import Registry
    from hansa_client.synchronous.treasury import Treasury

_SHARED: dict[str, Any] = {"agent": AgentName, "profile": ProfileName, "as_json": AsJson}


class Caller:
    """Client of the agent or the developer for whom a command acts, and whether the command prints JSON."""

    def __init__(self, registry: "Registry", *, as_json: bool) -> None:
        self.registry, self.as_json = registry, as_json


class OnceCaller(Caller):
    """The same, with the key of an act that is done once."""

    def __init__(self, registry: "Registry", key: str, *, as_json: bool) -> None:
        super().__init__(registry, as_json=as_json)
        self.key = key


class OnceParty:
    """Client of the agent or treasury that an act is for, with the key of the act, and whether the command prints JSON."""

    def __init__(self, party: "Registry | Treasury", key: str, *, as_json: bool) -> None:
        self.party, self.key, self.as_json = party, key, as_json


def as_agent(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command of the agent its shared options: --agent, --profile and --json. It takes an Caller first."""

    def carry_out(
        *, agent: str | None = None, profile: str | None = None, as_json: bool = False, **own: Any
    ) -> None:
        from . import opening

        with opening.as_agent(profile, agent) as registry:
            command(Caller(registry, as_json=as_json), **own)

    return _with_options(command, carry_out, _SHARED)


def as_developer(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command of the developer its shared options: --profile and --json. It takes a Caller first."""

    def carry_out(*, profile: str | None = None, as_json: bool = False, **own: Any) -> None:
        from . import opening

        with opening.as_developer(profile) as (registry, _):
            command(Caller(registry, as_json=as_json), **own)

    return _with_options(command, carry_out, {"profile": ProfileName, "as_json": AsJson})


def once_as_agent(command: Callable[..., None]) -> Callable[..., None]:
    """Give an act of the agent that is done once the same, and --key. It takes a OnceCaller first."""

    def carry_out(
        *,
        key: str | None = None,
        agent: str | None = None,
        profile: str | None = None,
        as_json: bool = False,
        **own: Any,
    ) -> None:
        from .opening import acting

        with acting(profile, agent, key) as (registry, once):
            command(OnceCaller(registry, once, as_json=as_json), **own)

    return _with_options(command, carry_out, {"key": Key, **_SHARED})


def once_for_party(command: Callable[..., None]) -> Callable[..., None]:
    """Give an act of an agent or a treasury that is done once the same, and --org. It takes a OnceParty first."""

    def carry_out(
        *,
        organization: str | None = None,
        key: str | None = None,
        agent: str | None = None,
        profile: str | None = None,
        as_json: bool = False,
        **own: Any,
    ) -> None:
        from .opening import acting_for

        with acting_for(profile, agent, organization, key) as (party, once):
            command(OnceParty(party, once, as_json=as_json), **own)

    return _with_options(command, carry_out, {"organization": OfOrganization, "key": Key, **_SHARED})


def _with_options(
    command: Callable[..., None], carry_out: Callable[..., None], options: dict[str, Any]
) -> Callable[..., None]:
    """The function that is carried out, with the parameters of the command after its first, and these options."""
    own = list(inspect.signature(command).parameters.values())[1:]
    shared = [
        inspect.Parameter(
            name, inspect.Parameter.KEYWORD_ONLY, default=None if name != "as_json" else False, annotation=one
        )
        for name, one in options.items()
    ]
    carried_out = wraps(command)(carry_out)
    parameters = [*own, *shared]
    carried_out.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    carried_out.__annotations__ = {one.name: one.annotation for one in parameters}
    return carried_out
