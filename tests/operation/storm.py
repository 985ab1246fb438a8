"""A storm of clients: transfers, repetitions, refusals and new agents over HTTP, every word of it in the history."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from hashlib import sha256
from random import Random
from typing import Any

import httpx2

from tests.operation.history import Answer, History, Operation, Outcome
from tests.registry import PASSWORD, card_of

ANSWER_SECONDS = 30
PAUSE_SECONDS = 0.05
TIMEOUT_SECONDS = 60
SHARE_OF_REPETITIONS = 0.1


class NoAnswer(Exception):
    """The request may or may not have been carried out."""


@dataclass(frozen=True)
class Payer:
    """An agent that the storm moves units for."""

    did: str
    token: str


class Storm:
    """Clients of one registry. They outlive it: an operation without an answer is recorded, and the next one is tried."""

    def __init__(
        self, url: str, history: History, seed: int, *, clients: int, agents: int, first: int = 0
    ) -> None:
        """Developers and transfers are numbered from `first` on: storms of one registry have numbers of their own."""
        self._http = httpx2.AsyncClient(
            base_url=f"{url}/api/v1",
            trust_env=False,
            timeout=ANSWER_SECONDS,
            limits=httpx2.Limits(max_connections=None, max_keepalive_connections=clients),
        )
        self._history = history
        self._random = Random(seed)
        self._clients = clients
        self._count = agents
        self._agents: list[Payer] = []
        self._numbers = first
        self._tasks: list[asyncio.Task[None]] = []

    @property
    def payers(self) -> set[str]:
        """The DIDs of the agents that pay each other."""
        return {agent.did for agent in self._agents}

    async def gather(self) -> None:
        """Onboard the agents that pay each other; each holds a genesis grant."""
        self._agents = list(await asyncio.gather(*(self._patiently(self._payer) for _ in range(self._count))))

    def rage(self) -> None:
        """Let the clients loose; one of them brings new agents, the others move units."""
        work = [self._onboard, *[self._move_units] * (self._clients - 1)]
        self._tasks = [asyncio.create_task(self._forever(one)) for one in work]

    async def calm(self) -> None:
        """Let every client finish its present operation."""
        tasks, self._tasks = self._tasks, []
        await asyncio.gather(*tasks)

    async def settle(self, unknown: list[Operation]) -> None:
        """Ask once more for each thing that was never answered."""
        for operation in unknown:
            assert operation.outcome is Outcome.UNKNOWN
            await self._patiently(lambda operation=operation: self._send_again(operation))

    async def close(self) -> None:
        """End; clients that were not calmed, because a test failed, are cancelled."""
        tasks, self._tasks = self._tasks, []
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._http.aclose()

    @property
    def _raging(self) -> bool:
        return bool(self._tasks)

    async def _forever(self, work: Callable[[], Awaitable[object]]) -> None:
        await asyncio.sleep(0)
        while self._raging:
            try:
                await work()
            except NoAnswer:
                await asyncio.sleep(PAUSE_SECONDS)

    async def _patiently(self, work: Callable[[], Awaitable[Any]]) -> Any:
        async with asyncio.timeout(TIMEOUT_SECONDS):
            while True:
                try:
                    return await work()
                except NoAnswer:
                    await asyncio.sleep(PAUSE_SECONDS)

    async def _move_units(self) -> None:
        payer, payee = self._random.sample(self._agents, 2)
        self._numbers += 1
        operation = {
            "payer": payer.did,
            "payee": payee.did if self._random.random() > 0.02 else f"{payee.did}0",
            # Most are covered; one in twenty is far more than anybody holds.
            "amount": f"{self._random.randint(1, 10**6) / 10**8:.8f}"
            if self._random.random() > 0.05
            else "10000",
        }
        key = f"transfer-{self._numbers}"
        await self._transfer(key, operation)
        while self._random.random() < SHARE_OF_REPETITIONS:
            await self._transfer(key, operation)

    async def _transfer(self, key: str, operation: dict[str, str]) -> Answer:
        token = next(agent.token for agent in self._agents if agent.did == operation["payer"])
        return await self._answered(
            key,
            "transfer",
            operation,
            self._http.post(
                "/teg/transfer",
                json={
                    "receiver_agent_id": operation["payee"],
                    "amount": operation["amount"],
                    "message": key,
                },
                headers={"Authorization": f"Bearer {token}", "Idempotency-Key": key},
            ),
        )

    async def _payer(self) -> Payer:
        developer = await self._developer()
        answer = await self._create(developer, await self._bootstrap_token(developer))
        made = json.loads(answer.text)
        form = {"username": made["client_id"], "password": made["client_secret"]}
        token = await self._plain("/auth/agent/token", data=form)
        return Payer(made["agent_did"], token["access_token"])

    async def _onboard(self) -> None:
        """A developer with three agents wanted at once from two tokens: two are made, one of them is granted units."""
        developer = await self._developer()
        first, second = await self._bootstrap_token(developer), await self._bootstrap_token(developer)
        wanted = (self._create(developer, token) for token in (first, first, second))
        for outcome in await asyncio.gather(*wanted, return_exceptions=True):
            if isinstance(outcome, BaseException):
                raise outcome

    async def _create(self, developer: str, token: str) -> Answer:
        key = sha256(token.encode()).hexdigest()
        return await self._answered(
            key, "create_agent", {"developer": developer, "token": token}, self._asked_for_agent(token)
        )

    def _asked_for_agent(self, token: str) -> Awaitable[httpx2.Response]:
        body = {"agent_did_method": "hansa", "agent_card": card_of()}
        return self._http.post(
            "/onboard/create_agent", json=body, headers={"Bootstrap-Token": token, **self._elsewhere()}
        )

    async def _send_again(self, operation: Operation) -> None:
        if operation.kind == "transfer":
            answer = await self._transfer(operation.key, operation.request)
        else:
            answer = await self._create(operation.request["developer"], operation.request["token"])
        if not answer.decides:
            raise NoAnswer

    async def _answered(
        self, key: str, kind: str, request: dict[str, str], response: Awaitable[httpx2.Response]
    ) -> Answer:
        """Send, with the request recorded before and the outcome after. Raises: NoAnswer."""
        asked = self._history.ask(key, kind, request)
        try:
            read = await response
        # anyio raises AttributeError where the server resets a connection that it has just accepted.
        except (httpx2.TransportError, AttributeError) as error:
            unsent = isinstance(error, httpx2.ConnectError | httpx2.ConnectTimeout)
            self._history.lose(asked, was_sent=not unsent)
            raise NoAnswer from error
        answer = Answer(
            read.status_code,
            read.text,
            retry_after="retry-after" in read.headers,
            replayed="idempotent-replayed" in read.headers,
        )
        self._history.record_answer(asked, answer)
        if read.status_code >= 500:
            raise NoAnswer
        return answer

    async def _developer(self) -> str:
        """A new developer's token; nothing of it is recorded, since only agents are judged."""
        self._numbers += 1
        address = f"developer{self._numbers}@example.org"
        body = {
            "name": f"Developer {self._numbers}",
            "email": address,
            "password": PASSWORD,
            "tos_accepted": True,
            "age_confirmed": True,
        }
        await self._plain("/auth/register", json=body)
        login = await self._plain("/auth/login", data={"username": address, "password": PASSWORD})
        return str(login["access_token"])

    async def _bootstrap_token(self, developer: str) -> str:
        headers = {"Authorization": f"Bearer {developer}"}
        answer = await self._plain("/onboard/bootstrap/request-token", json={}, headers=headers)
        return str(answer["bootstrap_token"])

    async def _plain(
        self, path: str, *, headers: dict[str, str] | None = None, **request: Any
    ) -> dict[str, Any]:
        """Ask for something whose loss does not matter. Raises: NoAnswer."""
        try:
            read = await self._http.post(path, headers={**(headers or {}), **self._elsewhere()}, **request)
        except httpx2.TransportError as error:
            raise NoAnswer from error
        if read.status_code == 503:
            raise NoAnswer
        assert read.is_success, f"{path}: {read.status_code} {read.text}"
        return dict(read.json())

    def _elsewhere(self) -> dict[str, str]:
        """An address of its own for each request, past the limits for each address."""
        return {"X-Forwarded-For": ".".join(str(self._random.randrange(1, 255)) for _ in range(4))}
