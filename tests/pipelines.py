"""Pipelines in tests: agents that listen on one host and answer as a test says, an owner with an agent, and requests to its pipelines."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Any

import httpx2

from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.rooms.commerce.payments import JOBS as PAYMENT_JOBS
from hansa.rooms.pipelines.running import RUN_JOBS
from tests.outside import Host, host
from tests.registry import StartRegistry, TestAgent, TestDeveloper, TestRegistry
from tests.running_jobs import working

PRICE = "1"
ENDED = {"succeeded", "failed", "cancelled", "expired", "budget_exceeded"}
WAITING = {"waiting_approval", "waiting_funds"}

Answer = Callable[[str], str | None]
"""Text that answers a text; None: the work fails."""


@dataclass
class Market:
    """Paid agents that listen at one address, each at its path, and an agent of one owner that buys from them."""

    registry: TestRegistry
    owner: TestDeveloper
    buyer: TestAgent
    answers: dict[str, Answer] = field(default_factory=dict)
    sellers: dict[str, TestAgent] = field(default_factory=dict)
    asked: list[tuple[str, str]] = field(default_factory=list)
    silent: set[str] = field(default_factory=set)
    place: str = ""
    called: asyncio.Event = field(default_factory=asyncio.Event)
    hangs_after: int | None = None
    """After so many calls every one hangs until `go_on`."""
    hanging: asyncio.Event = field(default_factory=asyncio.Event)
    over: asyncio.Event = field(default_factory=asyncio.Event)

    async def sells(self, name: str, answer: Answer = str.upper, price: str = PRICE) -> str:
        """An agent with this answer and price; returns its DID."""
        address = {
            "url": f"http://{self.place}/{name}",
            "protocolBinding": "JSONRPC",
            "protocolVersion": "1.0",
        }
        seller = await self.registry.agent(
            name=name.title(), pricing={"base_rate": price}, supportedInterfaces=[address]
        )
        self.sellers[name], self.answers[name] = seller, answer
        return seller.did

    async def speak(self, head: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        first, *lines = head.removesuffix("\r\n\r\n").split("\r\n")
        headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in lines)}
        name = first.split()[1].removeprefix("/")
        call = json.loads(await reader.readexactly(int(headers["content-length"])))
        await self.registry.post(
            "/a2a-payment/verify",
            json={"token": headers["x-payment-token"], "target_agent_did": self.sellers[name].did},
        )
        text = "".join(part.get("text", "") for part in call["params"].get("message", {}).get("parts", []))
        self.asked.append((name, text))
        self.called.set()
        if self.hangs_after is not None and len(self.asked) >= self.hangs_after:
            self.hanging.set()
        if name in self.silent or self.hanging.is_set():
            await self.over.wait()
            return
        answered = self.answers[name](text)
        parts = {"result": {"messageId": "m", "role": "ROLE_AGENT", "parts": [{"text": answered}]}}
        outcome = parts if answered is not None else {"error": {"code": -32000, "message": "no"}}
        body = json.dumps({"jsonrpc": "2.0", "id": call["id"], **outcome}).encode()
        writer.write(
            f"HTTP/1.1 200 OK\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode() + body
        )

    def go_on(self) -> None:
        """Let no further call hang; those that hang are never answered."""
        self.hangs_after = None
        self.hanging = asyncio.Event()

    async def send(
        self,
        method: str,
        path: str = "",
        *,
        who: Any = None,
        key: str | None = None,
        did: str | None = None,
        **more: Any,
    ) -> httpx2.Response:
        """A request below the pipelines of the buyer, by default its own."""
        headers = {**(who or self.buyer).headers, **({"Idempotency-Key": key} if key else {})}
        address = f"/api/v1/agents/{did or self.buyer.did}/pipelines{path}"
        return await self.registry.http.request(method, address, headers=headers, **more)

    async def created(self, *steps: dict[str, Any], **members: Any) -> str:
        """A pipeline with these steps; returns its id."""
        body = {"name": "Chain", "steps": list(steps), "budget": "10", **members}
        answer = await self.send("POST", json=body)
        assert answer.status_code == httpx2.codes.CREATED, answer.text
        return str(answer.json()["id"])

    async def started(self, pipeline: str, given: Any = None, who: Any = None, **members: Any) -> str:
        """A run of this pipeline; returns its path below the pipelines."""
        body = {"input": given or {}, **members}
        answer = await self.send("POST", f"/{pipeline}/runs", who=who, json=body)
        assert answer.status_code == httpx2.codes.ACCEPTED, answer.text
        assert answer.json()["status"] == "queued"
        return f"/{pipeline}/runs/{answer.json()['run_id']}"

    async def read(self, run: str) -> dict[str, Any]:
        answer = await self.send("GET", run)
        assert answer.status_code == httpx2.codes.OK, answer.text
        shown: dict[str, Any] = answer.json()
        return shown

    async def until(self, run: str, *statuses: str) -> dict[str, Any]:
        """The run once it has one of these statuses, by default ended or waiting."""
        wanted = set(statuses) or ENDED | WAITING
        async with asyncio.timeout(60):
            while (shown := await self.read(run))["status"] not in wanted:  # noqa: ASYNC110
                await asyncio.sleep(0.02)
        return shown

    async def ran(self, *steps: dict[str, Any], given: Any = None, **members: Any) -> dict[str, Any]:
        """A run of a new pipeline with these steps, once it has ended or waits."""
        return await self.until(await self.started(await self.created(*steps, **members), given))

    async def books_are_exact(self) -> None:
        """No unit was made or lost, budgets are what their tokens are, and nothing is held."""
        assert (await self.registry.supply())["delta"] == "0"
        wrong = """
        SELECT b.id FROM commerce_purchase_budget b LEFT JOIN commerce_payment_token t ON t.purchase_budget_id = b.id
        GROUP BY b.id HAVING b.spent <> coalesce(sum(t.amount) FILTER (WHERE t.status = 'settled'), 0)
          OR b.open <> coalesce(sum(t.amount) FILTER (WHERE t.status IN ('authorized', 'consumed', 'settling')), 0)
        """
        assert await self.registry.database.query(lambda tx: tx.fetch(wrong)) == []


def step(name: str, agent: str, message: Any = "{{/input/text}}", **members: Any) -> dict[str, Any]:
    """A step that sends a text, by default that of the input."""
    return {"id": name, "agent": agent, "message": message, "max_amount": "2", **members}


def text_of(run: dict[str, Any], name: str) -> str | None:
    """The text that a step brought."""
    output = step_of(run, name)["output"]
    return output["text"] if output else None


def step_of(run: dict[str, Any], name: str) -> dict[str, Any]:
    """The state of a step."""
    return next(one for one in run["steps"] if one["id"] == name)


def statuses(run: dict[str, Any]) -> dict[str, str]:
    """The status of each step."""
    return {one["id"]: one["status"] for one in run["steps"]}


def pipeline_jobs(runtime: Runtime) -> Any:
    """Meanwhile the jobs of runs and of payments are run as by a process of their own."""
    return working(runtime, RUN_JOBS, *PAYMENT_JOBS)


@asynccontextmanager
async def _within_this_process(start_registry: StartRegistry, **settings: Any) -> AsyncIterator[TestRegistry]:
    yield await start_registry(**settings)


@asynccontextmanager
async def open_market(
    start_registry: StartRegistry, *, works: bool = True, opens: Any = _within_this_process, **settings: Any
) -> AsyncIterator[Market]:
    """A registry whose jobs run, an owner with a buying agent, and an address for agents that sell.

    `opens` starts the registry, as `tests.doors.served.served` does for a browser.
    """
    kept: list[Market] = []
    listening: Host

    async def speak(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await kept[0].speak(listening.heads[-1], reader, writer)

    async with AsyncExitStack() as stack:
        listening = await stack.enter_async_context(host(speak))
        place = f"127.0.0.1:{listening.port}"
        registry = await stack.enter_async_context(
            opens(start_registry, outgoing_allow_user_hosts=place, **settings)
        )
        owner = await registry.developer()
        kept.append(Market(registry, owner, await owner.agent(name="Buyer"), place=place))
        async with pipeline_jobs(registry.runtime) if works else nullcontext():
            yield kept[0]
            kept[0].over.set()
