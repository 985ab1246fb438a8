"""The adapters of a paid service, each with a server and a client of its framework: FastAPI, the A2A SDK, the MCP SDK."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Annotated, Any
from uuid import uuid4

import httpx
import httpx2
import pytest
from a2a.client import ClientConfig, create_client
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events import EventQueue
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import create_jsonrpc_routes
from a2a.server.tasks import InMemoryTaskStore
from a2a.types import AgentCard, Message, Part, Role, SendMessageRequest
from fastapi import Depends, FastAPI, WebSocket
from google.protobuf.json_format import ParseDict
from mcp.client.session import ClientSession
from mcp.client.streamable_http import streamable_http_client
from mcp.server.mcpserver import MCPServer
from starlette.applications import Starlette
from websockets import InvalidStatus, connect

from hansa_client.pay.httpx_transport import PayingHttpxTransport
from hansa_client.receipts import bytes_of_tool_call, bytes_of_tool_result, read_receipt
from hansa_client.service import PaidService
from hansa_client.service.fastapi_dependency import PaidCall
from tests.client.paid import Shop, Works, shop_of
from tests.doors.served import served
from tests.registry import StartRegistry, TestRegistry, card_of


@pytest.fixture
async def registry(start_registry: StartRegistry) -> AsyncIterator[TestRegistry]:
    """A registry at its own base address, which is the issuer of its tokens."""
    async with served(start_registry) as registry:
        yield registry


def fastapi_app(service: PaidService, works: Works) -> Any:
    app = FastAPI()

    @app.post("/forecast")
    async def forecast(
        city: str, paid: Annotated[PaidCall, Depends(service.dependency("0.05"))]
    ) -> dict[str, Any]:
        works.executions[city] += 1
        return {"city": city, "payer": paid.facts.caller_did, "execution": works.executions[city]}

    @app.post("/half")
    async def half(paid: Annotated[PaidCall, Depends(service.dependency("0.05"))]) -> dict[str, str]:
        paid.capture("0.02")
        return {}

    @app.get("/free")
    async def free() -> dict[str, str]:
        return {"price": "none"}

    return service.asgi(app, {})


@pytest.fixture
async def fastapi_shop(registry: TestRegistry, tmp_path: Path) -> AsyncIterator[Shop]:
    async with shop_of(registry, tmp_path, wrap=fastapi_app) as shop:
        yield shop


async def test_a_route_with_the_dependency_is_paid(fastapi_shop: Shop) -> None:
    response = await fastapi_shop.client().post(f"{fastapi_shop.url}/forecast?city=Oslo")
    assert response.json() == {"city": "Oslo", "payer": fastapi_shop.payer.did, "execution": 1}
    assert [token["status"] for token in await fastapi_shop.tokens()] == ["settled"]


async def test_a_repeated_call_of_a_route_gets_the_stored_answer(fastapi_shop: Shop) -> None:
    token = await fastapi_shop.token()
    answers = [await fastapi_shop.call(token, "/forecast?city=Oslo") for _ in range(3)]
    assert [answer.status_code for answer in answers] == [200] * 3
    assert {answer.json()["execution"] for answer in answers} == {1}
    assert fastapi_shop.works.executions == {"Oslo": 1}


async def test_a_route_without_the_dependency_is_free(fastapi_shop: Shop) -> None:
    async with httpx2.AsyncClient() as http:
        assert (await http.get(f"{fastapi_shop.url}/free")).json() == {"price": "none"}
        assert (await http.post(f"{fastapi_shop.url}/forecast?city=Oslo")).status_code == 402


async def test_an_invalid_request_to_a_route_is_not_paid(fastapi_shop: Shop) -> None:
    response = await fastapi_shop.client().post(f"{fastapi_shop.url}/forecast")
    assert response.status_code == 422
    assert {token["status"] for token in await fastapi_shop.tokens()} <= {"released"}


async def test_a_route_may_capture_less(fastapi_shop: Shop) -> None:
    before = float(await fastapi_shop.payee.balance())
    assert (await fastapi_shop.client().post(f"{fastapi_shop.url}/half")).status_code == 200
    assert float(await fastapi_shop.payee.balance()) == pytest.approx(before + 0.02)


def app_with_sockets(service: PaidService, works: Works) -> Any:
    app = FastAPI()

    async def answer(socket: WebSocket) -> None:
        works.executions[socket.url.path] += 1
        await socket.accept()
        await socket.close()

    for path in ("/forecast", "/free"):
        app.add_api_websocket_route(path, answer)
    return service.asgi(app, {"/forecast": "0.05"})


async def test_a_web_socket_at_a_priced_address_is_refused(registry: TestRegistry, tmp_path: Path) -> None:
    async with shop_of(registry, tmp_path, wrap=app_with_sockets) as shop:
        at = shop.url.replace("http://", "ws://")
        async with connect(f"{at}/free"):
            pass
        with pytest.raises(InvalidStatus, match="403"):
            async with connect(f"{at}/forecast"):
                pass
        assert shop.works.executions == {"/free": 1}


class Echo(AgentExecutor):
    """Answers each message with its text."""

    def __init__(self, works: Works) -> None:
        self._works = works

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        text = context.get_user_input()
        self._works.executions[text] += 1
        if text == "fail":
            raise ValueError("the work failed")
        reply = Message(message_id=uuid4().hex, role=Role.ROLE_AGENT, parts=[Part(text=f"echo {text}")])
        await event_queue.enqueue_event(reply)

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        raise NotImplementedError


def a2a_card(url: str, *, streaming: bool = False) -> AgentCard:
    card = card_of(
        "Echo", supportedInterfaces=[{"url": url, "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}]
    )
    return ParseDict({**card, "capabilities": {"streaming": streaming}}, AgentCard())


def a2a_app(service: PaidService, works: Works) -> Any:
    card = a2a_card("http://127.0.0.1/a2a", streaming=True)
    handler = DefaultRequestHandler(
        agent_executor=Echo(works), task_store=InMemoryTaskStore(), agent_card=card
    )
    return service.a2a(Starlette(routes=create_jsonrpc_routes(handler, "/a2a")))


@pytest.fixture
async def a2a_shop(registry: TestRegistry, tmp_path: Path) -> AsyncIterator[Shop]:
    async with shop_of(registry, tmp_path, wrap=a2a_app) as shop:
        yield shop


def a_message(text: str) -> SendMessageRequest:
    return SendMessageRequest(
        message=Message(message_id=uuid4().hex, role=Role.ROLE_USER, parts=[Part(text=text)])
    )


async def said(client: Any, request: SendMessageRequest) -> list[str]:
    return [
        part.text
        for reply in [one async for one in client.send_message(request)]
        for part in reply.message.parts
    ]


@pytest.mark.parametrize("streaming", [False, True])
async def test_a_stock_a2a_client_pays_a_stock_a2a_server(a2a_shop: Shop, *, streaming: bool) -> None:
    transport = PayingHttpxTransport(a2a_shop.client())
    async with httpx.AsyncClient(transport=transport, timeout=60) as http:
        config = ClientConfig(httpx_client=http, streaming=streaming)
        client = await create_client(a2a_card(f"{a2a_shop.url}/a2a", streaming=streaming), config)
        assert await said(client, a_message("one")) == ["echo one"]
    # A stream is captured when it has ended, which its client need not wait for.
    while [token["status"] for token in await a2a_shop.tokens()] != ["settled"]:
        pass


async def test_a_repeated_message_gets_the_same_answer(a2a_shop: Shop) -> None:
    token = await a2a_shop.token()
    headers = {"X-Payment-Token": token.token, "X-Payment-Issuer": token.issuer}
    async with httpx.AsyncClient(headers=headers, timeout=60) as http:
        client = await create_client(
            a2a_card(f"{a2a_shop.url}/a2a"), ClientConfig(httpx_client=http, streaming=False)
        )
        # Each attempt of the client bears another JSON-RPC id and another message id.
        assert [await said(client, a_message("one")) for _ in range(3)] == [["echo one"]] * 3
    assert a2a_shop.works.executions == {"one": 1}


async def test_a_message_that_is_answered_with_an_error_is_not_paid(a2a_shop: Shop) -> None:
    token = await a2a_shop.token()
    headers = {"X-Payment-Token": token.token, "X-Payment-Issuer": token.issuer, "A2A-Version": "1.0"}
    message = {"messageId": "1", "role": "ROLE_USER", "parts": [{"text": "fail"}]}
    body = {"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {"message": message}}
    async with httpx2.AsyncClient(headers=headers, timeout=60) as http:
        answers = [await http.post(f"{a2a_shop.url}/a2a", json=body) for _ in range(2)]
    assert [(one.status_code, "error" in one.json()) for one in answers] == [(200, True)] * 2
    assert {one.headers["X-Payment-Outcome"] for one in answers} == {"failed"}
    assert a2a_shop.works.executions == {"fail": 1}
    assert await a2a_shop.status_of(token) == "released"


async def test_reading_a_task_is_free(a2a_shop: Shop) -> None:
    body = {"jsonrpc": "2.0", "id": 1, "method": "GetTask", "params": {"id": "unknown"}}
    async with httpx2.AsyncClient(headers={"A2A-Version": "1.0"}) as http:
        answer = await http.post(f"{a2a_shop.url}/a2a", json=body)
        paid = await http.post(f"{a2a_shop.url}/a2a", json={**body, "method": "SendMessage"})
    assert (answer.status_code, "error" in answer.json()) == (200, True)
    assert paid.status_code == 402


def mcp_app(service: PaidService, works: Works) -> Any:
    server = MCPServer("Forecasts")

    @server.tool()
    @service.paid(price="0.05")
    async def forecast(city: str, days: int = 1) -> dict[str, Any]:
        """The weather of a city."""
        works.executions[city] += 1
        if city == "Atlantis":
            raise ValueError("no such city")
        return {"city": city, "days": days, "execution": works.executions[city]}

    return server.streamable_http_app(streamable_http_path="/a2a", stateless_http=True, json_response=True)


@pytest.fixture
async def mcp_shop(registry: TestRegistry, tmp_path: Path) -> AsyncIterator[Shop]:
    async with shop_of(registry, tmp_path, wrap=mcp_app) as shop:
        yield shop
        await shop.service.stop()


async def called(shop: Shop, arguments: dict[str, Any], token: Any = None, payment: Any = None) -> Any:
    """A call by the stock MCP client; a payment goes in `_meta`, as x402's binding for MCP says."""
    if token:
        payload = {"token": token.token, "issuer": token.issuer}
        payment = {"x402Version": 2, "payload": payload, "accepted": {}}
    meta = {"x402/payment": payment} if payment is not None else None
    async with (
        streamable_http_client(f"{shop.url}/a2a") as (read, write),
        ClientSession(read, write) as session,
    ):
        await session.initialize()
        return await session.call_tool("forecast", arguments, meta=meta)


async def test_a_tool_that_is_not_paid_answers_with_its_terms(mcp_shop: Shop) -> None:
    result = await called(mcp_shop, {"city": "Oslo"})
    assert result.is_error
    assert result.structured_content["x402Version"] == 2
    assert json.loads(result.content[0].text) == result.structured_content
    assert result.meta["hansa/problem"]["payment"]["amount"] == "0.05"
    assert not mcp_shop.works.executions


@pytest.mark.parametrize("payment", ["[" * 100_000, "{", 5, [], {"payload": {"token": 5}}])
async def test_a_payment_of_a_tool_that_cannot_be_read_is_answered_with_the_terms(
    payment: Any, mcp_shop: Shop
) -> None:
    result = await called(mcp_shop, {"city": "Oslo"}, payment=payment)
    assert result.meta["hansa/problem"]["code"] == "TOKEN_MALFORMED"
    assert result.structured_content["accepts"]
    assert not mcp_shop.works.executions


async def test_a_stock_mcp_client_pays_a_tool(mcp_shop: Shop) -> None:
    token = await mcp_shop.token(capture_by="payee")
    for _ in range(2):
        result = await called(mcp_shop, {"city": "Oslo", "days": 3}, token)
        assert not result.is_error, result
        assert result.structured_content == {"city": "Oslo", "days": 3, "execution": 1}
        assert result.meta["hansa/payment-outcome"] == "delivered"
    assert mcp_shop.works.executions == {"Oslo": 1}
    assert await mcp_shop.status_of(token) == "settled"


async def test_the_result_of_a_paid_tool_has_a_delivery_receipt(mcp_shop: Shop) -> None:
    token = await mcp_shop.token(capture_by="payee")
    results = [await called(mcp_shop, {"city": "Oslo", "days": 3}, token) for _ in range(2)]
    receipts = {result.meta["hansa/payment-receipt"] for result in results}
    assert receipts == {await mcp_shop.service.receipt(token.token_id)}
    sent = results[0].model_dump(mode="json", by_alias=True, exclude_none=True)
    call = bytes_of_tool_call({"city": "Oslo", "days": 3})
    read_receipt(receipts.pop()).require_call(token.token_id, call, bytes_of_tool_result(sent))


async def test_a_tool_that_fails_is_not_paid(mcp_shop: Shop) -> None:
    token = await mcp_shop.token(capture_by="payee")
    result = await called(mcp_shop, {"city": "Atlantis"}, token)
    assert result.is_error
    assert result.meta["hansa/payment-outcome"] == "failed"
    assert "hansa/payment-receipt" not in result.meta
    assert await mcp_shop.status_of(token) == "released"


async def test_an_x402_payment_of_a_tool_must_be_captured_by_the_payee(mcp_shop: Shop) -> None:
    token = await mcp_shop.token(capture_by="caller")
    result = await called(mcp_shop, {"city": "Oslo"}, token)
    assert result.meta["hansa/problem"]["code"] == "CAPTURE_NOT_ALLOWED"
    assert not mcp_shop.works.executions
