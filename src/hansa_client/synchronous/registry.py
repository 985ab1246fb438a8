# Generated from hansa_client/asynchronous/registry.py by `python -m tests.house.synchronous`.
"""The client of one registry."""

from types import TracebackType
from typing import Self

import httpx2

from hansa_client.calls import Call, origin_of
from hansa_client.credentials import AgentCredentials, ApiKey, DeveloperTokens
from hansa_client.errors import CredentialMissing
from hansa_client.records.accounts import RegistryConfig
from hansa_client.retries import RetryPolicy
from hansa_client.sending import Sender, request_of

from .accounts import Accounts
from .achievements import Achievements
from .agents import Agents
from .attestations import Attestations
from .bonds import Bonds
from .bundles import Bundles
from .cards import Cards
from .children import Children
from .contracts import Contracts
from .discovery import Discovery
from .disputes import Disputes
from .events import Events
from .governance import Decisions, Governance
from .listings import Listings
from .logins import AgentLogin, DeveloperLogin, Keep
from .logs import Logs
from .market import Market
from .metrics import Metrics
from .organizations import Organizations
from .payments import Payments
from .pipelines import Pipelines
from .releases import Releases
from .rulings import Rulings
from .session import Session
from .staking import Staking
from .status import Status
from .support import Support
from .transfers import Transfers
from .transport import Transport
from .treasury import Treasury
from .wallets import Wallets
from .webhooks import Webhooks
from .work_orders import WorkOrders

TIMEOUT_SECONDS = 30.0


class Registry:
    """One registry, seen by a developer (`developer`), an agent (`agent`), both or anyone.

    `keep` is called with each new pair of developer tokens: store them, the pair before it works no more.
    """

    def __init__(
        self,
        url: str,
        *,
        developer: ApiKey | DeveloperTokens | None = None,
        agent: AgentCredentials | None = None,
        keep: Keep | None = None,
        retries: RetryPolicy | None = None,
        timeout_seconds: float = TIMEOUT_SECONDS,
        http_transport: httpx2.BaseTransport | None = None,
    ) -> None:
        self.url = origin_of(url)
        self.agent_client_id = agent.client_id if agent is not None else ""
        self._sender = Sender(self.url, http_transport)
        transport = Transport(self._sender, retries or RetryPolicy(), timeout_seconds=timeout_seconds)
        self._transport = transport
        login = DeveloperLogin(transport, developer, keep)
        acting: Session = AgentLogin(transport, agent) if agent is not None else NoAgent()
        self.accounts = Accounts(transport, login)
        self._login = login
        self.agents = Agents(transport, login, acting)
        self.logs = Logs(transport, login, acting)
        self.metrics = Metrics(transport, login, acting)
        self.pipelines = Pipelines(transport, login, acting)
        self.children = Children(transport, login, acting)
        self.releases = Releases(transport, login, acting)
        self.bundles = Bundles(transport, login, acting)
        self.organizations = Organizations(transport, login)
        self.work_orders = WorkOrders(transport, login, acting)
        self.cards = Cards(transport, login)
        self.discovery = Discovery(transport)
        self.transfers = Transfers(transport, acting)
        self.staking = Staking(transport, acting)
        self.agent = Agent(transport, self._sender, acting)
        self.decisions = Decisions(transport, login)
        self.status = Status(transport, login)
        self.listings = Listings(transport, login)
        self.payments = Payments(transport, acting)
        self.wallets = Wallets(transport, acting)
        self.contracts = Contracts(transport, acting)
        self.disputes = Disputes(transport, acting)
        self.rulings = Rulings(transport, login)
        self.attestations = Attestations(transport, login, acting)
        self.bonds = Bonds(transport, acting)
        self.achievements = Achievements(transport, login, acting)
        self.support = Support(transport, login)
        self.webhooks = Webhooks(transport, login)
        self.events = Events(transport, self._sender, acting)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._sender.close()

    def treasury(self, organization: str) -> Treasury:
        """The treasury of an organization of the developer, by its id or slug."""
        return Treasury(self._transport, self._login, organization)

    def config(self) -> RegistryConfig:
        """Return the public configuration of the registry."""
        return self._transport.answer(Call("GET", "/api/v1/public/registry-config"), RegistryConfig)

    def fetch(self, call: Call) -> httpx2.Response:
        """The response to a public request, its body as it was sent. Raises: Refusal, Unreachable, OutcomeUnknown."""
        answer = self._transport.response(call)
        response = answer.response()
        response.request = request_of(self.url, call, None, TIMEOUT_SECONDS)
        return response


class Agent:
    """The agent that this client acts for, by the groups of its acts."""

    def __init__(self, transport: Transport, sender: Sender, agent: Session) -> None:
        self.governance = Governance(transport, agent)
        self.market = Market(transport, sender, agent)


class NoAgent:
    """In place of the login of an agent that was not given."""

    def token(self) -> str:
        """Raises: CredentialMissing."""
        raise CredentialMissing("This call needs an agent: pass its client_id and client_secret.")

    def renew(self, rejected: str) -> None:
        """Never reached, because there is no token to reject."""
        del rejected
