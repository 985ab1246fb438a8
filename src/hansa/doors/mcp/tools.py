"""The table of tools: name, scope, arguments, description, and the route that each calls within the process."""

import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Literal, TypeAlias
from urllib.parse import quote

import msgspec
import structlog
from pydantic import BaseModel, ValidationError

from hansa.foundation.plumbing.web.caller import Agent, Developer
from hansa.foundation.plumbing.web.in_process import InnerCall
from hansa.foundation.values.errors import Crashed, Refused

from . import agreements, catalogue, inputs, spending
from .answers import Shaped, shaped
from .exchange import Exchange, Hints, Offered, members
from .principals import CONTRACTS, DISPUTES, PIPELINES, READ, SUPPORT, WALLET_PAY, WALLET_READ
from .refusals import approval_required, invalid, of_answer, refusal

By: TypeAlias = Literal["anyone", "person", "agent"]
Handler: TypeAlias = Callable[[Exchange, Any], Awaitable[Shaped]]

_log = structlog.get_logger()

API = "/api/v1"
CARD = ("name", "description", "tags", "pricing", "human_readable_id")
CONTRACT = ("title", "terms", "acceptance_criteria", "milestones/*/title", "deliverables", "history/*/note")
DISPUTE = ("description", "note", "evidence")
RUN = ("/steps/*/output",)
TICKET = ("/messages/*/body",)
TICKETS = f"{API}/support/tickets"
RUNS = f"{API}/agents/{{acting}}/pipelines/{{pipeline}}/runs"


class Route(msgspec.Struct, frozen=True):
    """Route of a tool. Members in braces are part of the path; the others are the query of a GET, and the body otherwise.

    `{acting}` is the DID of the caller. `renamed` has the names of arguments that the route calls otherwise.
    """

    method: str
    path: str
    by: By
    renamed: Mapping[str, str] = {}

    def call_of(self, given: BaseModel, caller: Developer | Agent | None = None) -> InnerCall:
        """The request of these arguments by this caller."""
        stated = given.model_dump(mode="json", by_alias=True, exclude_none=True)
        key = stated.get("request_id")
        named = {
            self.renamed.get(name, name): value for name, value in members(stated, "as", "request_id").items()
        }
        path = self.path
        if isinstance(caller, Agent):
            path = path.replace("{acting}", quote(caller.did, safe=":"))
        for name in list(named):
            if f"{{{name}}}" in path:
                path = path.replace(f"{{{name}}}", quote(str(named.pop(name)), safe=":"))
        if self.method == "GET":
            query = {name: _as_text(value) for name, value in named.items()}
            return InnerCall("GET", path, query)
        return InnerCall(self.method, path, body=named, key=key)


class Tool(msgspec.Struct, frozen=True):
    """A tool. `places` are pointers into its result to what others wrote; without a scope it is public."""

    name: str
    scope: str | None
    model: type[inputs.Arguments]
    description: str
    does: Route | Handler
    places: tuple[str, ...] = ()
    reads: bool = False
    destroys: bool = False

    @property
    def moves_units(self) -> bool:
        """A call pays, sends or gives back units."""
        return (self.scope == WALLET_PAY and not self.reads) or self.name in BINDING

    @property
    def input_schema(self) -> dict[str, Any]:
        """The schema of the arguments."""
        return self.model.model_json_schema(by_alias=True)

    @property
    def hints(self) -> Hints:
        """The annotations."""
        return {
            "read_only": self.reads,
            "destructive": self.destroys,
            "idempotent": self.reads or not self.name.startswith("preview_"),
            "open_world": self.name in {"buy_call", "find_agents", "read_agent"},
        }

    async def carry_out(self, exchange: Exchange, arguments: dict[str, Any]) -> Shaped:
        """The result of a call; every refusal is one."""
        key = arguments.get("intent") or arguments.get("request_id")
        return await carried_out(exchange, self.name, key, self._admitted(exchange, arguments))

    async def _admitted(self, exchange: Exchange, arguments: dict[str, Any]) -> Shaped:
        """Raises: ValidationError, Refused."""
        if self.scope is not None and (barred := exchange.caller.barred) is not None:
            raise barred
        await exchange.admit(moves_units=self.moves_units)
        given = self.model.model_validate(arguments)
        if not isinstance(self.does, Route):
            return await self.does(exchange, given)
        caller = await _caller_of(self.does, exchange, given)
        answer = await exchange.ask(self.does.call_of(given, caller), caller)
        if isinstance(caller, Agent):
            waiting = approval_required(exchange.runtime.settings.base_url, answer)
            if waiting is not None:
                return shaped(waiting, ())
        return of_answer(answer) if answer.is_refusal else shaped(answer.content, self.places)


async def carried_out(exchange: Exchange, name: str, key: Any, act: Awaitable[Shaped]) -> Shaped:
    """The result of an act of a tool, noted; every refusal is a result. `key` names the act, where it is a text."""
    began = time.perf_counter()
    try:
        result = await act
    except ValidationError as error:
        result = invalid(error)
    except Refused as error:
        result = refusal(error)
    except Exception as error:  # noqa: BLE001
        _log.error("tool crashed", tool=name, exc_info=error)
        result = refusal(Crashed())
    exchange.note(name, result, began, key if isinstance(key, str) else None)
    return result


async def _caller_of(route: Route, exchange: Exchange, given: Any) -> Developer | Agent | None:
    if route.by == "anyone":
        return None
    if route.by == "person":
        return exchange.caller.require_person()
    return await exchange.caller.acting(exchange.runtime, given.as_)


def _as_text(value: Any) -> str:
    return ("true" if value else "false") if isinstance(value, bool) else str(value)


def _each(prefix: str, *names: str) -> tuple[str, ...]:
    return tuple(f"{prefix}/{name}" for name in names)


def _on_contract(name: str, model: type[inputs.Arguments], act: str, text: str, **more: Any) -> Tool:
    route = Route("POST", f"{API}/contracts/{{contract_id}}/{act}", "agent")
    return Tool(name, CONTRACTS, model, text, route, _each("", *CONTRACT), **more)


BINDING = frozenset({"propose_contract", "accept_contract", "approve_work", "start_run", "resume_run"})
"""Tools of contracts and runs that bind units or pay them."""

_AGAIN = "Give request_id, so that a repeated call does it once."

TOOLS: dict[str, Tool] = {
    tool.name: tool
    for tool in (
        Tool(
            "find_agents",
            None,
            inputs.FindAgents,
            "Search the catalogue for agents and their prices. Texts of cards are written by their owners.",
            Route("GET", f"{API}/agent-cards/discover", "anyone"),
            (*_each("/results/*", *CARD), "/facets/tags"),
            reads=True,
        ),
        Tool(
            "read_agent",
            None,
            inputs.ReadAgent,
            "Read one agent: card, price, reputation, bond and liveness.",
            catalogue.read_agent,
            reads=True,
        ),
        Tool(
            "read_registry",
            None,
            inputs.ReadRegistry,
            "Read the registry card: operator, currency, fees and rules of this registry.",
            Route("GET", f"{API}/public/registry-card", "anyone"),
            reads=True,
        ),
        Tool(
            "verify",
            None,
            inputs.Verify,
            "Verify a card, a licence, an attestation, a statement of the log or a contract of this registry.",
            catalogue.verify,
            reads=True,
        ),
        Tool(
            "list_my_agents",
            READ,
            inputs.ListMyAgents,
            "List your own agents; acting tools take the DID of one of them in `as`.",
            Route("GET", f"{API}/agents", "person"),
            reads=True,
        ),
        Tool(
            "read_balance",
            WALLET_READ,
            inputs.AsAgent,
            "Read the balance of the acting agent.",
            Route("GET", f"{API}/teg/balance", "agent"),
            reads=True,
        ),
        Tool(
            "list_transactions",
            WALLET_READ,
            inputs.ListTransactions,
            "List the transactions of the acting agent, newest first.",
            Route("GET", f"{API}/teg/transactions", "agent"),
            ("/items/*/message", "/transactions/*/message"),
            reads=True,
        ),
        Tool(
            "list_tokens",
            WALLET_READ,
            inputs.ListTokens,
            "List the payment tokens that the acting agent authorized, or is paid by.",
            Route("GET", f"{API}/a2a-payment/my-tokens", "agent"),
            reads=True,
        ),
        Tool(
            "preview_call",
            WALLET_PAY,
            inputs.PreviewCall,
            "Price a paid call of an agent. Nothing is paid: show price, fee and total, then pay with buy_call.",
            spending.preview_call,
            reads=True,
        ),
        Tool(
            "preview_transfer",
            WALLET_PAY,
            inputs.PreviewTransfer,
            "Price a transfer of units. Nothing is sent: show amount, fee and total, then send with send_units.",
            spending.preview_transfer,
            reads=True,
        ),
        Tool(
            "buy_call",
            WALLET_PAY,
            inputs.BuyCall,
            "Pay a previewed call once and read the answer of the service. The same intent never pays twice.",
            spending.buy_call,
            destroys=True,
        ),
        Tool(
            "send_units",
            WALLET_PAY,
            inputs.PayIntent,
            "Send a previewed transfer once. The same intent never pays twice; a transfer cannot be undone.",
            spending.send_units,
            destroys=True,
        ),
        Tool(
            "release_token",
            WALLET_PAY,
            inputs.ReleaseToken,
            f"Give up a payment token that was not used; its units come back. {_AGAIN}",
            Route("POST", f"{API}/a2a-payment/release-by-id/{{token_id}}", "agent"),
        ),
        Tool(
            "list_contracts",
            CONTRACTS,
            inputs.ListContracts,
            "List the contracts of the acting agent, or the open proposals of every agent.",
            Route("GET", f"{API}/contracts", "agent"),
            _each("/items/*", *CONTRACT),
            reads=True,
        ),
        Tool(
            "read_contract",
            CONTRACTS,
            inputs.ReadContract,
            "Read one contract with its history.",
            Route("GET", f"{API}/contracts/{{contract_id}}", "agent"),
            _each("", *CONTRACT),
            reads=True,
        ),
        Tool(
            "propose_contract",
            CONTRACTS,
            inputs.ProposeContract,
            f"Propose a contract to one provider, or to every agent. A funded one holds its amount. {_AGAIN}",
            Route("POST", f"{API}/contracts", "agent"),
            _each("", *CONTRACT),
            destroys=True,
        ),
        _on_contract(
            "accept_contract", inputs.OnContract, "accept", f"Accept a proposal as its provider. {_AGAIN}"
        ),
        _on_contract(
            "submit_work", inputs.SubmitWork, "submit", f"Submit the work, or a milestone. {_AGAIN}"
        ),
        Tool(
            "approve_work",
            CONTRACTS,
            inputs.ApproveWork,
            f"Approve submitted work and pay it. `amount` must be the amount that is due. {_AGAIN}",
            agreements.approve_work,
            destroys=True,
        ),
        _on_contract(
            "request_changes",
            inputs.NoteOnContract,
            "request-changes",
            f"Return submitted work to its provider. {_AGAIN}",
        ),
        _on_contract(
            "reject_work",
            inputs.ReasonOnContract,
            "mark-failed",
            f"Declare that a contract has failed. {_AGAIN}",
            destroys=True,
        ),
        _on_contract(
            "cancel_contract",
            inputs.ReasonOnContract,
            "cancel",
            f"Withdraw a proposal that is not accepted yet. {_AGAIN}",
            destroys=True,
        ),
        Tool(
            "file_dispute",
            DISPUTES,
            inputs.FileDispute,
            f"File a dispute about a contract, a token or a transaction; it costs a deposit. {_AGAIN}",
            Route("POST", f"{API}/disputes/", "agent"),
            _each("", *DISPUTE),
            destroys=True,
        ),
        Tool(
            "add_evidence",
            DISPUTES,
            inputs.AddEvidence,
            f"Add evidence to a dispute: its digest and place. {_AGAIN}",
            Route("POST", f"{API}/disputes/{{dispute_id}}/evidence", "agent"),
            _each("", *DISPUTE),
        ),
        Tool(
            "read_dispute",
            DISPUTES,
            inputs.ReadDispute,
            "Read one dispute with its evidence.",
            Route("GET", f"{API}/disputes/{{dispute_id}}", "agent"),
            _each("", *DISPUTE),
            reads=True,
        ),
        Tool(
            "start_run",
            PIPELINES,
            inputs.StartRun,
            f"Start a run of a pipeline of the acting agent. Its steps pay agents, within the budget. {_AGAIN}",
            Route("POST", RUNS, "agent"),
            destroys=True,
        ),
        Tool(
            "read_run",
            PIPELINES,
            inputs.ReadRun,
            "Read a run: status, costs, steps with their attempts and outputs.",
            Route("GET", f"{RUNS}/{{run}}", "agent"),
            RUN,
            reads=True,
        ),
        Tool(
            "resume_run",
            PIPELINES,
            inputs.ResumeRun,
            f"Let a run go on that failed, spent its budget or lacked units; done steps stay. {_AGAIN}",
            Route("POST", f"{RUNS}/{{run}}/resume", "agent"),
            RUN,
            destroys=True,
        ),
        Tool(
            "cancel_run",
            PIPELINES,
            inputs.OnRun,
            "Cancel a run: nothing more begins, and it ends once its open payments have ended.",
            Route("POST", f"{RUNS}/{{run}}/cancel", "agent"),
            RUN,
            destroys=True,
        ),
        Tool(
            "open_ticket",
            SUPPORT,
            inputs.OpenTicket,
            f"Open a ticket at the support of this registry for the person. Never write secrets in it. {_AGAIN}",
            Route("POST", TICKETS, "person"),
            TICKET,
        ),
        Tool(
            "reply_ticket",
            SUPPORT,
            inputs.ReplyTicket,
            f"Write a message in an open ticket of the person, and read the answers of the support. {_AGAIN}",
            Route("POST", f"{TICKETS}/{{ticket_id}}/messages", "person"),
            TICKET,
        ),
    )
}


def offered_to(scopes: frozenset[str], *more: Offered) -> dict[str, Offered]:
    """The tools of a caller with these scopes, of the table and others, by name."""
    known = sorted((*TOOLS.values(), *more), key=lambda tool: tool.name)
    return {tool.name: tool for tool in known if tool.scope is None or tool.scope in scopes}
