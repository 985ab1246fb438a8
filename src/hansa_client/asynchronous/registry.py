"""The client of one registry."""

from types import TracebackType
from typing import Self

import httpx2

from hansa_client.calls import Call, origin_of
from hansa_client.credentials import AgentCredentials, ApiKey, DeveloperTokens
from hansa_client.errors import CredentialMissing
from hansa_client.records.accounts import RegistryConfig
from hansa_client.retries import RetryPolicy
from hansa_client.sending import AsyncSender, request_of

from .accounts import AsyncAccounts
from .achievements import AsyncAchievements
from .agents import AsyncAgents
from .attestations import AsyncAttestations
from .bonds import AsyncBonds
from .bundles import AsyncBundles
from .cards import AsyncCards
from .children import AsyncChildren
from .contracts import AsyncContracts
from .discovery import AsyncDiscovery
from .disputes import AsyncDisputes
from .events import AsyncEvents
from .governance import AsyncDecisions, AsyncGovernance
from .listings import AsyncListings
from .logins import AsyncAgentLogin, AsyncDeveloperLogin, Keep
from .logs import AsyncLogs
from .market import AsyncMarket
from .metrics import AsyncMetrics
from .organizations import AsyncOrganizations
from .payments import AsyncPayments
from .pipelines import AsyncPipelines
from .releases import AsyncReleases
from .rulings import AsyncRulings
from .session import AsyncSession
from .staking import AsyncStaking
from .status import AsyncStatus
from .support import AsyncSupport
from .transfers import AsyncTransfers
from .transport import AsyncTransport
from .treasury import AsyncTreasury
from .wallets import AsyncWallets
from .webhooks import AsyncWebhooks
from .work_orders import AsyncWorkOrders

TIMEOUT_SECONDS = 30.0


class AsyncRegistry:
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
        http_transport: httpx2.AsyncBaseTransport | None = None,
    ) -> None:
        self.url = origin_of(url)
        self.agent_client_id = agent.client_id if agent is not None else ""
        self._sender = AsyncSender(self.url, http_transport)
        transport = AsyncTransport(self._sender, retries or RetryPolicy(), timeout_seconds=timeout_seconds)
        self._transport = transport
        login = AsyncDeveloperLogin(transport, developer, keep)
        acting: AsyncSession = AsyncAgentLogin(transport, agent) if agent is not None else AsyncNoAgent()
        self.accounts = AsyncAccounts(transport, login)
        self._login = login
        self.agents = AsyncAgents(transport, login, acting)
        self.logs = AsyncLogs(transport, login, acting)
        self.metrics = AsyncMetrics(transport, login, acting)
        self.pipelines = AsyncPipelines(transport, login, acting)
        self.children = AsyncChildren(transport, login, acting)
        self.releases = AsyncReleases(transport, login, acting)
        self.bundles = AsyncBundles(transport, login, acting)
        self.organizations = AsyncOrganizations(transport, login)
        self.work_orders = AsyncWorkOrders(transport, login, acting)
        self.cards = AsyncCards(transport, login)
        self.discovery = AsyncDiscovery(transport)
        self.transfers = AsyncTransfers(transport, acting)
        self.staking = AsyncStaking(transport, acting)
        self.agent = AsyncAgent(transport, self._sender, acting)
        self.decisions = AsyncDecisions(transport, login)
        self.status = AsyncStatus(transport, login)
        self.listings = AsyncListings(transport, login)
        self.payments = AsyncPayments(transport, acting)
        self.wallets = AsyncWallets(transport, acting)
        self.contracts = AsyncContracts(transport, acting)
        self.disputes = AsyncDisputes(transport, acting)
        self.rulings = AsyncRulings(transport, login)
        self.attestations = AsyncAttestations(transport, login, acting)
        self.bonds = AsyncBonds(transport, acting)
        self.achievements = AsyncAchievements(transport, login, acting)
        self.support = AsyncSupport(transport, login)
        self.webhooks = AsyncWebhooks(transport, login)
        self.events = AsyncEvents(transport, self._sender, acting)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close the connections."""
        await self._sender.aclose()

    def treasury(self, organization: str) -> AsyncTreasury:
        """The treasury of an organization of the developer, by its id or slug."""
        return AsyncTreasury(self._transport, self._login, organization)

    async def config(self) -> RegistryConfig:
        """Return the public configuration of the registry."""
        return await self._transport.answer(Call("GET", "/api/v1/public/registry-config"), RegistryConfig)

    async def fetch(self, call: Call) -> httpx2.Response:
        """The response to a public request, its body as it was sent. Raises: Refusal, Unreachable, OutcomeUnknown."""
        answer = await self._transport.response(call)
        response = answer.response()
        response.request = request_of(self.url, call, None, TIMEOUT_SECONDS)
        return response


class AsyncAgent:
    """The agent that this client acts for, by the groups of its acts."""

    def __init__(self, transport: AsyncTransport, sender: AsyncSender, agent: AsyncSession) -> None:
        self.governance = AsyncGovernance(transport, agent)
        self.market = AsyncMarket(transport, sender, agent)


class AsyncNoAgent:
    """In place of the login of an agent that was not given."""

    async def token(self) -> str:
        """Raises: CredentialMissing."""
        raise CredentialMissing("This call needs an agent: pass its client_id and client_secret.")

    async def renew(self, rejected: str) -> None:
        """Never reached, because there is no token to reject."""
        del rejected
