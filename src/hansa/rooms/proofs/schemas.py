"""Shapes of circuits and attestations. Keys and proofs are in the JSON of snarkjs."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any, Literal, Self
from uuid import UUID

from fastapi import Path
from pydantic import AfterValidator, ConfigDict, Field

from hansa.foundation.values.did import DID_MAX_CHARACTERS
from hansa.foundation.values.lazy_model import LazyModel
from hansa.foundation.values.request_body import RequestBody
from hansa.foundation.values.visible_text import plain_and_visible
from hansa.foundation.values.web_address import read_web_address

from .records import Attestation, Circuit, NewCircuit, Submission
from .rules import INPUTS_MAX

PAGE_DEFAULT, PAGE_MAX = 50, 200
TITLE_MAX, TEXT_MAX, URI_MAX = 150, 4000, 2048
BIGINT_MAX = 2**63 - 1
CIRCUIT_ID_PATTERN = r"^[a-z0-9][a-z0-9._-]{0,63}$"

Number = Annotated[str, Field(min_length=1, max_length=78)]
Pair = Annotated[list[Number], Field(min_length=2, max_length=2)]
G1 = Annotated[list[Number], Field(min_length=3, max_length=3, description="x, y and 1, as decimals.")]
G2 = Annotated[list[Pair], Field(min_length=3, max_length=3, description="x, y and 1, each of two decimals.")]
CircuitId = Annotated[str, Field(pattern=CIRCUIT_ID_PATTERN)]
CircuitInPath = Annotated[str, Path(pattern=CIRCUIT_ID_PATTERN)]
Place = Annotated[int, Field(strict=True, ge=0, lt=INPUTS_MAX)]
Text = Annotated[str, Field(max_length=TEXT_MAX), AfterValidator(plain_and_visible)]


def _https(uri: str) -> str:
    address = read_web_address(uri)
    if address is None or address.scheme != "https":
        raise ValueError("must be an https address without credentials and fragment")
    return uri


class _Exact(RequestBody):
    model_config = ConfigDict(extra="forbid")


class VerificationKeyIn(_Exact):
    """The verification key that snarkjs exports. `vk_alphabeta_12` follows from the others and is not stored."""

    protocol: Literal["groth16"]
    curve: Literal["bn128"]
    nPublic: Annotated[int, Field(strict=True, ge=1, le=INPUTS_MAX)]  # noqa: N815
    vk_alpha_1: G1
    vk_beta_2: G2
    vk_gamma_2: G2
    vk_delta_2: G2
    vk_alphabeta_12: list[list[Pair]] | None = Field(default=None, max_length=2, exclude=True)
    IC: Annotated[list[G1], Field(min_length=2, max_length=INPUTS_MAX + 1)]


class CircuitIn(_Exact):
    """A circuit whose proofs the registry is to verify."""

    circuit_id: CircuitId
    title: Annotated[str, Field(max_length=TITLE_MAX), AfterValidator(plain_and_visible)]
    statement: Text = Field(description="The claim that a proof of this circuit proves, in words.")
    source_uri: Annotated[str, Field(max_length=URI_MAX), AfterValidator(_https)] = Field(
        description="An https address of the source of the circuit; the registry never fetches it."
    )
    verification_key: VerificationKeyIn
    holder_input: Place = Field(
        description="Place, from 0, of the public input that is SHA-256 of the DID of the holder modulo the order of the group."
    )
    context_input: Place | None = Field(
        default=None, description="Place of the public input that is likewise of the subject of the proof."
    )
    setup_note: Text = Field(description="Account of the setup: its contributors, and its transcript.")

    def new(self) -> NewCircuit:
        """The circuit that this request registers."""
        return NewCircuit(
            self.circuit_id,
            self.title,
            self.statement,
            self.source_uri,
            self.verification_key.model_dump(),
            self.holder_input,
            self.context_input,
            self.setup_note,
        )


class CircuitOut(LazyModel):
    """A circuit. Its meaning rests on its registrar: the registry verifies equations, never the claim in words."""

    circuit_id: str
    title: str
    statement: str
    source_uri: str
    verification_key: dict[str, Any]
    holder_input: int
    context_input: int | None
    setup_note: str
    status: Literal["active", "retired"]
    registered_by: int = Field(description="Developer id of the administrator who registered the circuit.")
    registered_at: datetime
    retired_at: datetime | None

    @classmethod
    def of(cls, circuit: Circuit) -> Self:
        """The form of a circuit."""
        shared = {name: getattr(circuit, name) for name in cls.model_fields if name != "status"}
        return cls(**shared, status="retired" if circuit.retired_at else "active")


class CircuitsOut(LazyModel):
    """A page of circuits, newest first."""

    circuits: list[CircuitOut]
    next: str | None = Field(description="Send it as `next` for the following page; null on the last one.")

    @classmethod
    def of(cls, circuits: Sequence[Circuit], limit: int) -> Self:
        """The page of `limit` circuits; one more that was found shows that another page follows."""
        shown = circuits[:limit]
        more = f"circuit-{shown[-1].seq}" if len(circuits) > limit else None
        return cls(circuits=[CircuitOut.of(one) for one in shown], next=more)


class ProofIn(_Exact):
    """A proof as snarkjs writes it."""

    pi_a: G1
    pi_b: G2
    pi_c: G1
    protocol: Literal["groth16"]
    curve: Literal["bn128"]


class ProofContextIn(_Exact):
    """The subject of a proof: a payment token or a contract."""

    token_id: UUID | None = None
    contract_id: Annotated[int, Field(strict=True, ge=1, le=BIGINT_MAX)] | None = None

    def name(self) -> str:
        """The name of the subject, which the proof binds. Raises: ValueError."""
        if (self.token_id is None) == (self.contract_id is None):
            raise ValueError("give one of token_id and contract_id")
        return f"contract:{self.contract_id}" if self.token_id is None else f"token:{self.token_id}"


def _of_one(context: ProofContextIn) -> ProofContextIn:
    context.name()
    return context


class AttestationIn(_Exact):
    """A proof of the caller about itself."""

    circuit_id: CircuitId
    proof_data: ProofIn
    public_inputs: Annotated[list[Number], Field(min_length=1, max_length=INPUTS_MAX)]
    context: Annotated[ProofContextIn, AfterValidator(_of_one)] | None = None

    def submission(self, agent_did: str) -> Submission:
        """The proof that this agent submits."""
        return Submission(
            agent_did,
            self.circuit_id,
            self.proof_data.model_dump(),
            tuple(self.public_inputs),
            self.context.name() if self.context else None,
        )


class AttestationSubmittedOut(LazyModel):
    """An attestation as it is answered to its holder."""

    attestation_id: UUID
    status: Literal["verified"] = "verified"
    circuit_id: str
    public_inputs: list[str]
    expires_at: datetime

    @classmethod
    def of(cls, attestation: Attestation) -> Self:
        """The answer to a submission."""
        return cls(
            attestation_id=attestation.attestation_id,
            circuit_id=attestation.circuit_id,
            public_inputs=list(attestation.public_inputs),
            expires_at=attestation.expires_at,
        )


class ProofContextOut(LazyModel):
    """The subject of a proof."""

    token_id: UUID | None
    contract_id: int | None

    @classmethod
    def of(cls, context: str) -> Self:
        """The form of a subject by its name."""
        kind, _, number = context.partition(":")
        is_token = kind == "token"
        return cls(token_id=UUID(number) if is_token else None, contract_id=None if is_token else int(number))


class ProofAttestationOut(LazyModel):
    """A verified proof of an agent. Anybody verifies it again with the key of its circuit."""

    attestation_id: UUID
    agent_did: str
    circuit_id: str
    status: Literal["verified", "expired", "revoked"]
    context: ProofContextOut | None
    public_inputs: list[str]
    proof_data: dict[str, Any]
    verified_at: datetime
    expires_at: datetime
    revoked_at: datetime | None

    @classmethod
    def of(cls, attestation: Attestation) -> Self:
        """The form of an attestation."""
        return cls(
            attestation_id=attestation.attestation_id,
            agent_did=attestation.agent_did,
            circuit_id=attestation.circuit_id,
            status=attestation.status,
            context=ProofContextOut.of(attestation.context) if attestation.context else None,
            public_inputs=list(attestation.public_inputs),
            proof_data=attestation.proof,
            verified_at=attestation.verified_at,
            expires_at=attestation.expires_at,
            revoked_at=attestation.revoked_at,
        )


class ProofAttestationsOut(LazyModel):
    """A page of attestations of an agent, newest first."""

    attestations: list[ProofAttestationOut]
    next: str | None = Field(description="Send it as `next` for the following page; null on the last one.")

    @classmethod
    def of(cls, attestations: Sequence[Attestation], limit: int) -> Self:
        """The page of `limit` attestations; one more that was found shows that another page follows."""
        shown = attestations[:limit]
        more = f"att-{shown[-1].seq}" if len(attestations) > limit else None
        return cls(attestations=[ProofAttestationOut.of(one) for one in shown], next=more)


class CircuitsQuery(LazyModel):
    """Page of circuits."""

    limit: int = Field(default=PAGE_DEFAULT, ge=1, le=PAGE_MAX)
    next: str | None = Field(
        default=None, pattern=r"^circuit-[0-9]{1,18}$", description="The cursor of the previous page."
    )

    @property
    def before(self) -> int | None:
        """Position that the page follows."""
        return int(self.next.removeprefix("circuit-")) if self.next else None


class AttestationsQuery(LazyModel):
    """Page of the attestations of an agent."""

    agent: str = Field(
        min_length=1,
        max_length=DID_MAX_CHARACTERS,
        description="DID of the agent.",
        examples=["did:hansa:hansa.local:1b4e28ba-2fa1-41d2-883f-0016d3cca427"],
    )
    limit: int = Field(default=PAGE_DEFAULT, ge=1, le=PAGE_MAX)
    next: str | None = Field(
        default=None, pattern=r"^att-[0-9]{1,18}$", description="The cursor of the previous page."
    )

    @property
    def before(self) -> int | None:
        """Position that the page follows."""
        return int(self.next.removeprefix("att-")) if self.next else None
