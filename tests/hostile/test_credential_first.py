"""A request without a credential costs no parsing: its body is not even read."""

from typing import Any

import pytest

from hansa.doors.reference_map import Entrance, empty_app, entrances
from tests.hostile.well_formed import Stage, set_stage, with_some_id
from tests.registry import TestRegistry


@pytest.fixture
async def stage(registry: TestRegistry) -> Stage:
    return await set_stage(registry)


@pytest.fixture
def taking_bodies(tmp_path) -> list[Entrance]:
    """The operations that take a body and need a credential."""
    found = [
        entrance
        for entrance in entrances(empty_app(tmp_path))
        if entrance.context.body_field and not entrance.callers[0].startswith("anyone")
    ]
    assert found
    return found


class Unread:
    """A request whose body nobody may ask for."""

    def __init__(self, stage: Stage, entrance: Entrance, headers: dict[str, str]) -> None:
        self._app = stage.registry.app
        self._scope: dict[str, Any] = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": entrance.method,
            "path": with_some_id(entrance.path),
            "raw_path": with_some_id(entrance.path).encode(),
            "query_string": b"",
            "root_path": "",
            "scheme": "http",
            "server": ("registry.test", 80),
            "client": ("198.51.100.9", 4711),
            "headers": [(name.lower().encode(), value.encode()) for name, value in headers.items()],
        }
        self.was_read = False
        self.status = 0

    async def send(self) -> "Unread":
        await self._app(self._scope, self._receive, self._take)
        return self

    async def _receive(self) -> dict[str, Any]:
        self.was_read = True
        return {"type": "http.request", "body": b"{}", "more_body": False}

    async def _take(self, message: dict[str, Any]) -> None:
        self.status = message.get("status", self.status)


@pytest.mark.parametrize("token", [None, "Bearer nobody.nobody.nobody"], ids=["no token", "a made-up token"])
async def test_a_body_without_a_credential_is_refused_unread(
    stage: Stage, taking_bodies: list[Entrance], token: str | None
):
    faults = []
    for entrance in taking_bodies:
        headers = {"Content-Type": "application/json", "Content-Length": "1000000"}
        unread = await Unread(
            stage, entrance, {**headers, **({"Authorization": token} if token else {})}
        ).send()
        if unread.was_read or unread.status not in {401, 429}:
            faults.append(f"{entrance.method} {entrance.path}: {unread.status}, read: {unread.was_read}")
    assert not faults, "\n".join(faults)


async def test_a_limit_is_counted_once_for_a_request(stage: Stage):
    for number in range(10):
        answer = await stage.registry.http.post(
            "/api/v1/auth/login",
            data={"username": f"nobody-{number}@example.org", "password": "wrong wrong wrong"},
            headers={"X-Forwarded-For": "203.0.113.7"},
        )
        assert answer.status_code == 401, number
    answer = await stage.registry.http.post(
        "/api/v1/auth/login",
        data={"username": "nobody@example.org", "password": "wrong wrong wrong"},
        headers={"X-Forwarded-For": "203.0.113.7"},
    )
    assert answer.status_code == 429
