"""A caller that writes the address of a paid call in another form, to have it for free."""

from pathlib import Path
from typing import Any

import httpx2
import pytest
from starlette.applications import Starlette
from starlette.routing import Mount

from hansa_client.service import PaidService
from hansa_client.service.requests import plain_path

FORMS = (
    *("/translate", "/translate/", "//translate", "/translate//", "/TRANSLATE", "/./translate"),
    *(
        "/free/../translate",
        "/%74ranslate",
        "/translate%2F",
        "/%2ftranslate",
        "/%2574ranslate",
        "/translate;v=1",
    ),
    *("/translate?", "/translate/.", "/\\translate"),
)
METHODS = ("GET", "HEAD", "OPTIONS", "POST", "PUT", "BREW")


class Works:
    """An application that serves every address."""

    def __init__(self) -> None:
        self.executions: list[str] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.executions.append(scope["path"])
        if scope["type"] == "websocket":
            await send({"type": "websocket.accept"})
            return
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})


@pytest.fixture
def service(tmp_path: Path) -> PaidService:
    return PaidService(
        agent_did="did:hansa:hansa.local:service",
        registry_url="http://127.0.0.1:9",
        currency="AVT",
        store=tmp_path / "paid-calls.db",
    )


@pytest.mark.parametrize("mount", ["", "/api", "/v1/api"])
@pytest.mark.parametrize("path", FORMS)
async def test_no_form_of_a_priced_path_is_served_for_free(service: PaidService, path: str, mount: str):
    works = Works()
    paid = service.asgi(works, {"/translate": "0.05"})
    app = Starlette(routes=[Mount(mount, app=paid)]) if mount else paid
    transport = httpx2.ASGITransport(app=app)
    async with httpx2.AsyncClient(transport=transport, base_url="http://service.test") as http:
        for method in METHODS:
            answer = await http.request(method, f"http://service.test{mount}{path}")
            assert answer.status_code == 402, (method, answer.text)
        assert (await http.get(f"http://service.test{mount}/free")).status_code == 200
    assert works.executions == [works.executions[-1]]


@pytest.mark.parametrize("root_path", ["/api", "/api/"])
@pytest.mark.parametrize("path", ["/translate", "/api/translate", "/api/translate/"])
async def test_a_server_behind_a_prefix_demands_the_price(service: PaidService, path: str, root_path: str):
    works = Works()
    transport = httpx2.ASGITransport(app=service.asgi(works, {"/translate": "0.05"}), root_path=root_path)
    async with httpx2.AsyncClient(transport=transport, base_url="http://service.test") as http:
        assert (await http.get(path)).status_code == 402
    assert works.executions == []


@pytest.mark.parametrize("path", ["/translate", "/translate/", "//Translate"])
async def test_no_form_of_a_priced_path_opens_a_web_socket(service: PaidService, path: str):
    works, sent = Works(), []

    async def receive() -> dict[str, Any]:
        return {"type": "websocket.connect"}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message["type"])

    scope = {"type": "websocket", "path": path, "headers": [], "query_string": b"", "root_path": ""}
    await service.asgi(works, {"/translate": "0.05"})(scope, receive, send)
    assert (sent, works.executions) == (["websocket.close"], [])


@pytest.mark.parametrize("path", ["/message:send", "/message:send/", "/v1/Message:Send", "/message%3Asend"])
async def test_a_message_of_a2a_is_paid_in_every_form_of_its_path(service: PaidService, path: str):
    works = Works()
    transport = httpx2.ASGITransport(app=service.a2a(works, "0.05"))
    async with httpx2.AsyncClient(transport=transport, base_url="http://service.test") as http:
        assert (await http.post(path, json={})).status_code == 402
        batch = [{"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {}}]
        assert (await http.post("/", json=batch)).status_code == 402
    assert works.executions == []


def test_a_price_is_demanded_at_the_plain_form_of_a_path():
    assert {plain_path(path.partition("?")[0]) for path in FORMS} == {"/translate"}
