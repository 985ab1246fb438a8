"""Arguments of the tools. Unknown members are refused; the routes judge the values once more.

- `as` names the acting agent of a person; an agent and a connection act as themselves.
- `request_id` is the Idempotency-Key of an act.
"""

from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import AwareDatetime, ConfigDict, Field, model_validator

from hansa.foundation.plumbing.web.idempotency import KEY_PATTERN
from hansa.foundation.values.did import DID_MAX_CHARACTERS
from hansa.foundation.values.lazy_model import LazyModel
from hansa.foundation.values.money import PositiveAmount
from hansa.foundation.values.timestamps import ISO_ONLY
from hansa.rooms import commerce, support

REQUEST_ID_MAX = 64
PAGE_DEFAULT, PAGE_MAX = 10, 50
OFFSET_MAX = 10**9
BIGINT_MAX = 2**63 - 1

Did = Annotated[str, Field(min_length=1, max_length=DID_MAX_CHARACTERS, description="DID of an agent.")]
ContractId = Annotated[int, Field(strict=True, ge=1, le=BIGINT_MAX)]
DisputeId = Annotated[int, Field(strict=True, ge=1, le=BIGINT_MAX)]
Text = Annotated[str, Field(min_length=1, max_length=100_000)]


class Arguments(LazyModel):
    """Arguments of one tool."""

    model_config = ConfigDict(
        defer_build=True, extra="forbid", validate_by_name=True, serialize_by_alias=True
    )


class AsAgent(Arguments):
    """Arguments of a tool that acts as an agent."""

    as_: str | None = Field(
        default=None,
        alias="as",
        max_length=DID_MAX_CHARACTERS,
        description="DID of the acting agent, one of your own; needed by a person alone.",
    )


class Repeated(Arguments):
    """Arguments of an act that may be repeated."""

    request_id: Annotated[str | None, Field(pattern=KEY_PATTERN, max_length=REQUEST_ID_MAX)] = Field(
        default=None, description="Name of this act; the same act under the same name is done once."
    )


class Acts(AsAgent, Repeated):
    """Arguments of an act of an agent that may be repeated."""


class Paged(LazyModel):
    """Members of a list."""

    limit: int = Field(default=PAGE_DEFAULT, ge=1, le=PAGE_MAX)
    offset: int = Field(default=0, ge=0, le=OFFSET_MAX)


class FindAgents(Arguments, Paged):
    """Search of the catalogue."""

    q: str = Field(default="", max_length=100, description="Words of name, description, tags, skills or DID.")
    pricing: Literal["free", "paid"] | None = None
    tag: str | None = Field(default=None, max_length=100)
    verified_only: bool = False
    answerable_only: bool = Field(default=True, description="Leave out agents that do not answer.")
    bonded_only: bool = False


class ReadAgent(Arguments):
    """An agent to read."""

    agent: Did


class ReadRegistry(Arguments):
    """No arguments."""


class Verify(Arguments):
    """A document to verify."""

    kind: Literal["card", "licence", "attestation", "log", "contract"]
    subject: Annotated[str, Field(min_length=1, max_length=200_000)] | dict[str, Any] = Field(
        description="Its id at this registry, or the document itself. Nothing is fetched from elsewhere."
    )
    at: Annotated[AwareDatetime, ISO_ONLY] | None = Field(
        default=None,
        description="Time to judge a card or a licence as of; by default now. Other kinds have none.",
    )


class ListMyAgents(Arguments, Paged):
    """Page of own agents."""


class ListTransactions(AsAgent, Paged):
    """Page of transactions of the acting agent."""


class ListTokens(AsAgent):
    """Payment tokens of the acting agent."""

    role: Literal["caller", "payee"] = "caller"
    status: str | None = Field(default=None, max_length=20)
    limit: int = Field(default=PAGE_DEFAULT, ge=1, le=PAGE_MAX)


class CallRequest(Arguments):
    """JSON-RPC request to a service."""

    method: str = Field(min_length=1, max_length=256)
    params: dict[str, Any] = Field(default_factory=dict)


class PreviewCall(AsAgent):
    """A call to be priced."""

    agent: Did
    message: Text | dict[str, Any] | None = Field(default=None, description="Text or A2A message to send.")
    request: CallRequest | None = Field(default=None, description="JSON-RPC request to send instead.")

    @model_validator(mode="after")
    def _one_of_both(self) -> "PreviewCall":
        if (self.message is None) == (self.request is None):
            raise ValueError("give either message or request")
        return self


class PreviewTransfer(AsAgent):
    """A transfer to be priced."""

    receiver: Did
    amount: PositiveAmount
    message: str | None = Field(default=None, max_length=256)


class PayIntent(Arguments):
    """An intent to pay."""

    intent: Annotated[str, Field(pattern=commerce.INTENT_ID_PATTERN, description="From the preview.")]


class BuyCall(PayIntent):
    """An intent of a call; with `offset` the rest of a long answer is read."""

    offset: int = Field(
        default=0, ge=0, le=OFFSET_MAX, description="Character of the answer to read on from."
    )


class ReleaseToken(Acts):
    """A payment token to give up."""

    token_id: UUID


class ListContracts(AsAgent, Paged):
    """Page of contracts."""

    role: Literal["contractor", "provider"] | None = None
    status: str | None = Field(default=None, max_length=40)
    open: bool = Field(default=False, description="Open proposals of every agent.")


class ReadContract(AsAgent):
    """A contract to read."""

    contract_id: ContractId


class ProposeContract(commerce.ContractIn, Acts):
    """A proposal."""


class OnContract(Acts):
    """An act on a contract."""

    contract_id: ContractId


class SubmitWork(commerce.SubmissionIn, OnContract):
    """Submitted work."""


class ApproveWork(OnContract):
    """Approval of submitted work, which pays it."""

    amount: PositiveAmount = Field(description="The amount that is due for it, without the fee.")
    milestone: int | None = Field(default=None, strict=True, ge=0, le=1000)


class NoteOnContract(OnContract):
    """A note on submitted work."""

    note: str | None = Field(default=None, max_length=2000)


class ReasonOnContract(OnContract):
    """A reason for an end."""

    reason: str | None = Field(default=None, max_length=2000)


class FileDispute(commerce.DisputeIn, Acts):
    """A complaint."""


class AddEvidence(commerce.EvidenceIn, Acts):
    """Evidence for a dispute."""

    dispute_id: DisputeId


class ReadDispute(AsAgent):
    """A dispute to read."""

    dispute_id: DisputeId


class StartRun(Acts):
    """A run of a pipeline of the acting agent."""

    pipeline: UUID
    input: dict[str, Any] = Field(default_factory=dict, description="Values that steps name as /input/…")
    budget: PositiveAmount | None = Field(default=None, description="The most it spends, without fees.")


class ReadRun(AsAgent):
    """A run to read."""

    pipeline: UUID
    run: UUID


class OnRun(Acts):
    """An act on a run."""

    pipeline: UUID
    run: UUID


class ResumeRun(OnRun):
    """A run that goes on."""

    budget: PositiveAmount | None = Field(default=None, description="The new budget in all.")


class OpenTicket(support.SupportTicketIn, Repeated):
    """A ticket."""


class ReplyTicket(support.SupportMessageIn, Repeated):
    """A message in a ticket."""

    ticket_id: UUID


class SearchTools(Arguments):
    """Words of a tool that is sought."""

    query: str = Field(default="", max_length=200)


class DescribeTool(Arguments):
    """A tool to describe."""

    name: str = Field(max_length=100)


class CallTool(Arguments):
    """A tool to call."""

    name: str = Field(max_length=100)
    arguments: dict[str, Any] = Field(default_factory=dict)
