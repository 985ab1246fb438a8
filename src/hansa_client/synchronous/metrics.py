# Generated from hansa_client/asynchronous/metrics.py by `python -m tests.house.synchronous`.
"""Metrics of agents, for the agent of this client or a developer who may read the agent."""

from urllib.parse import quote

from hansa_client.calls import Call
from hansa_client.records.agents import AgentSelf
from hansa_client.records.metrics import AgentMetrics

from .session import Session
from .transport import Transport


class Metrics:
    """Payments, requests and health of one agent: without a DID of that of this client, else of one of the developer."""

    def __init__(self, transport: Transport, owner: Session, agent: Session) -> None:
        self._transport = transport
        self._owner = owner
        self._agent = agent

    def read(self, did: str | None = None, *, time_range: str = "24h") -> AgentMetrics:
        """The metrics of the last `1h`, `24h`, `7d` or `30d`. Raises: NotFound, Invalid."""
        session = self._owner
        if did is None:
            session = self._agent
            did = (self._transport.answer(Call("GET", "/api/v1/agents/me"), AgentSelf, session)).did
        call = Call("GET", f"/api/v1/agent-metrics/{quote(did, safe='')}", query={"time_range": time_range})
        return self._transport.answer(call, AgentMetrics, session)
