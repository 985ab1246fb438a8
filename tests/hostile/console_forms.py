"""The forms of the console as its own pages send them, for the developer on the stage."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from hansa.doors.console.access import new_form_key
from tests.registry import PASSWORD, TestDeveloper, TestRegistry


@dataclass(frozen=True)
class FilledForm:
    """The fields of a form, and cookies besides that of a session."""

    fields: Mapping[str, str]
    cookies: Mapping[str, str] = field(default_factory=dict)


def headers_of_a_page(registry: TestRegistry) -> dict[str, str]:
    """What a browser sends with a form of a page of the registry."""
    return {"Origin": registry.settings.base_url, "Sec-Fetch-Site": "same-origin"}


async def form_key(registry: TestRegistry, developer: TestDeveloper) -> str:
    """The key of a form that this developer has open."""
    row = await registry.database.read(
        lambda tx: tx.fetchrow(
            "SELECT id, clock_timestamp() AS now FROM people_developer WHERE email = $1", developer.email
        )
    )
    return new_form_key(registry.runtime.seal, row["id"], row["now"])


async def _keyed(stage: Any, **fields: str) -> FilledForm:
    return FilledForm({"form_key": await form_key(stage.registry, stage.developer), **fields})


async def _login(stage: Any) -> FilledForm:
    return FilledForm({"email": (await stage.registry.developer()).email, "password": PASSWORD})


async def _empty(stage: Any) -> FilledForm:
    return FilledForm({"next": ""})


CONSOLE_FORMS: dict[str, Callable[[Any], Awaitable[FilledForm]]] = {
    "POST /login": _login,
    "POST /logout": _empty,
    "POST /account/sessions/{session_id:uuid}/end": _keyed,
    "POST /account/sessions/end-all": _keyed,
    "POST /confirm": lambda stage: _keyed(stage, password=PASSWORD),
}
