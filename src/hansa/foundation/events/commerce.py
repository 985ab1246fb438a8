"""Facts of commerce: payments, contracts and disputes. Agreements of two agents are theirs; payments and rulings are public."""

from typing import ClassVar

from hansa.foundation.events.base import AgentEvent, Event


class _Payment(Event, frozen=True, kw_only=True):
    withheld: ClassVar[tuple[str, ...]] = ("task_id",)

    token_id: str
    caller: str
    payee: str
    amount: str
    currency: str
    task_id: str | None

    @property
    def aggregate_id(self) -> str:
        return self.caller


class A2APaymentSettled(_Payment, frozen=True, kw_only=True):
    """A payment token was settled by this ledger transaction.

    `counts`: caller and payee had different owners at that moment, neither with an area of the administration; false for a
    payment inside the approval of a contract, which counts by its own event. `transfer_id`: it was paid to an agent of another
    registry by this transfer, without a fee here.
    """

    source: ClassVar[str] = "ledger"
    is_always_recorded: ClassVar[bool] = True

    tx_id: int
    fee: str
    counts: bool
    transfer_id: str | None = None


class A2APaymentFailed(_Payment, frozen=True, kw_only=True):
    """The settlement of a payment token failed for this reason; nothing was moved."""

    is_private: ClassVar[bool] = True

    reason: str


class _ContractEvent(Event, frozen=True):
    aggregate_type: ClassVar[str] = "contract"
    is_private: ClassVar[bool] = True

    contract_id: int
    contractor_did: str
    provider_did: str | None

    @property
    def aggregate_id(self) -> str:
        return self.contractor_did


class ContractProposed(_ContractEvent, frozen=True):
    """A contractor proposed a contract; without a provider it is open to every agent."""

    contract_type: str
    amount: str
    currency: str
    funded: bool


class ContractAccepted(_ContractEvent, frozen=True):
    """The provider accepted. `hold_id` is the hold of a funded contract."""

    hold_id: int | None


class ContractSubmitted(_ContractEvent, frozen=True):
    """The provider submitted its work, or one milestone of it."""

    milestone: int | None


class ContractChangesRequested(_ContractEvent, frozen=True):
    """The contractor requested changes of what was submitted."""

    milestone: int | None


class ContractMilestoneApproved(_ContractEvent, frozen=True):
    """A milestone that is not the last one was approved and paid. `transfer_id`: to another registry, by this transfer."""

    milestone: int
    amount: str
    fee: str
    currency: str
    tx_id: int
    transfer_id: str | None = None


class ContractOverpaid(_ContractEvent, frozen=True):
    """A transfer to another registry paid what the contract does not owe: it came to light after a restore.

    Without `milestone` the transfer was to pay the whole. The payee is asked to return `amount`; a dispute finds `settled_twice`
    where the contract was paid more than its amount.
    """

    is_always_recorded: ClassVar[bool] = True

    milestone: int | None
    amount: str
    currency: str
    tx_id: int
    transfer_id: str


class ContractCompleted(_ContractEvent, frozen=True):
    """The whole work is approved and paid. `amount` and `fee` are those of the contract, over all its payments.

    `counts`: the parties had different owners at that moment, neither with an area of the administration. `transfer_id`: the
    last payment went to another registry by this transfer.
    """

    is_private: ClassVar[bool] = False
    is_always_recorded: ClassVar[bool] = True

    amount: str
    fee: str
    currency: str
    tx_id: int
    counts: bool
    transfer_id: str | None = None


class ContractFailed(_ContractEvent, frozen=True):
    """The contract failed. Until `hold_release_at` a dispute can claim what is held."""

    ended_because: str
    hold_release_at: str | None


class ContractCancelled(_ContractEvent, frozen=True):
    """A proposal was cancelled."""

    ended_because: str


class ContractExpired(_ContractEvent, frozen=True):
    """A proposal was not accepted in time."""

    ended_because: str


class ContractOfPeerMoved(_ContractEvent, frozen=True):
    """A contract that another registry keeps moved, as that registry states; the provider is an agent of this one.

    `registry`: the ledger id of the one that keeps the contract, whose number `contract_id` is. `move` is the name of the webhook
    after `contract.`, or `payment_begun`, `payment_failed` and `hold_released`, of which none is sent.
    """

    registry: str
    move: str
    milestone: int | None

    @property
    def aggregate_id(self) -> str:
        assert self.provider_did is not None
        return self.provider_did


class _DisputeEvent(Event, frozen=True):
    aggregate_type: ClassVar[str] = "dispute"

    dispute_id: int
    complainant_did: str
    defendant_did: str

    @property
    def aggregate_id(self) -> str:
        return self.complainant_did


class _PrivateDisputeEvent(_DisputeEvent, frozen=True):
    is_private: ClassVar[bool] = True


class DisputeFiled(_PrivateDisputeEvent, frozen=True):
    """An agent complained about another. Of contract, token and transaction one is given, or none."""

    reason_code: str
    contract_id: int | None
    token_id: str | None
    transaction_id: str | None
    claimed_amount: str | None
    currency: str


class DisputeEvidenceAdded(_PrivateDisputeEvent, frozen=True):
    """A party added evidence to its dispute."""

    by: str


class DisputeVotingOpened(_PrivateDisputeEvent, frozen=True):
    """The time for evidence ended; the dispute waits for a ruling."""

    rule_by: str


class DisputeRuled(_DisputeEvent, frozen=True):
    """A dispute was decided. `ruled_by` is null if it was dismissed because there was no ruling in time.

    `counts` states whether the parties had different owners at that moment; `fee` was paid in the payment in dispute. The slash
    was cut by `slash_reduction` for the attestations of the defendant in `attestation_ids`.
    """

    is_always_recorded: ClassVar[bool] = True

    ruling: str
    ruled_by: str | None
    contract_id: int | None
    compensation_amount: str
    slash_applied: str
    currency: str
    fee: str
    counts: bool
    slash_reduction: str = "0"
    attestation_ids: tuple[str, ...] = ()


class DisputeCompensationRefused(_DisputeEvent, frozen=True):
    """The registry of a complainant refused for good to issue what was awarded; what was destroyed stays destroyed.

    `reason` is the code of that registry. Amounts are of the unit of the registry that ruled and slashed.
    """

    is_always_recorded: ClassVar[bool] = True

    compensation_amount: str
    slashed_amount: str
    currency: str
    reason: str
    settlement_id: int
    counterparty_frame: str


class DisputeSlash(AgentEvent, frozen=True, omit_defaults=True):
    """Units of a defendant ceased to be, those of its bond first.

    `tx_id` destroyed the liquid part, or the bond's where there was no liquid one; `bond_tx_id` destroyed the bond's.
    """

    is_always_recorded: ClassVar[bool] = True

    dispute_id: int
    amount: str
    from_bond: str
    from_liquid: str
    currency: str
    tx_id: int
    bond_tx_id: int | None
    settlement_id: int | None = None
    counterparty_frame: str | None = None
    """Of a dispute that another registry decided: that registry, whose number `dispute_id` is."""


class DisputeCompensationMinted(AgentEvent, frozen=True, omit_defaults=True):
    """Units came into being in the account of a complainant."""

    is_always_recorded: ClassVar[bool] = True

    dispute_id: int
    amount: str
    currency: str
    tx_id: int
    settlement_id: int | None = None
    counterparty_frame: str | None = None
    """The registry that destroyed units of the defendant, and its transaction."""
    counterparty_tx_id: str | None = None
