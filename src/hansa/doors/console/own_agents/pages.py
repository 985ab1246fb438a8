"""Shared parts of an own agent's pages: the agent, and the navigation among them."""

from typing import Annotated, Any

from fastapi import Depends, Path, Request
from fastapi.responses import HTMLResponse

from hansa.doors.console.access import SentForm, SignedIn, account_page
from hansa.foundation.plumbing.storage.database import Database
from hansa.foundation.plumbing.web.caller import Agent
from hansa.foundation.plumbing.web.limits import limited, within_read_limit
from hansa.foundation.values.did import DID_MAX_CHARACTERS
from hansa.rooms import agents

MyDid = Annotated[str, Path(max_length=DID_MAX_CHARACTERS)]
READS = [Depends(within_read_limit)]
ACTS = [Depends(limited(agents.ACT_TOKENS))]
TABS = (
    ("wallet", "Wallet"),
    ("wallet/statement", "Statement"),
    ("wallet/send", "Send"),
    ("wallet/stakes", "Stakes"),
    ("wallet/tokens", "Payment tokens"),
    ("wallet/bond", "Bond"),
    ("contracts", "Contracts"),
    ("disputes", "Disputes"),
)


async def own_agent(db: Database, person: SignedIn, did: str) -> agents.OwnedAgent:
    """An agent of this person, in any status. Raises: AgentUnknown, also for an agent of another developer."""
    return await db.read(lambda tx: agents.own_agent(tx, person.developer.id, did))


def agent_page(
    request: Request,
    template: str,
    person: SignedIn,
    agent: agents.OwnedAgent,
    form: SentForm | None = None,
    *,
    status: int = 200,
    **content: Any,
) -> HTMLResponse:
    """A page of an own agent."""
    done = request.query_params.get("done", "")
    return account_page(
        request,
        template,
        person,
        form,
        status=status,
        agent=agent,
        tabs=TABS,
        **{"done": done, **content},
    )


def as_reader(agent: agents.OwnedAgent, person: SignedIn) -> Agent:
    """The agent as it reads its contracts and disputes; its owner reads them also while it is suspended."""
    return Agent(agent.did, person.developer.id, agent.roles, frozenset(), is_governed=False)


def address_of(did: str, page: str, done: str = "") -> str:
    """The address of a page of an own agent."""
    return f"/account/agents/{did}/{page}" + (f"?done={done}" if done else "")
