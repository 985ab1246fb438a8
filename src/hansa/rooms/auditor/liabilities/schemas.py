"""Proofs of liabilities as they are published. Amounts are decimal strings, hashes lowercase hex."""

from pydantic import Field

from hansa.foundation.values.lazy_model import LazyModel
from hansa.foundation.values.money import format_amount
from hansa.rooms.auditor.attestations import AttestationOut
from hansa_verify import encoded

from .proofs import BalanceProof, ProvedLeaf, PublicBlocks
from .sum_tree import NODE_BYTES, hash_of, node_at, sum_of


class SumNode(LazyModel):
    """A node of the tree: the sum of what is below it, and its hash."""

    amount: str = Field(description="Decimal string.")
    hash: str = Field(description="SHA-256, lowercase hex.")

    @classmethod
    def of(cls, node: bytes) -> "SumNode":
        """The node as it is published."""
        return cls(amount=format_amount(sum_of(node)), hash=hash_of(node).hex())


class BalanceLeaf(LazyModel):
    """One of the two leaves of an account, and what leads from it to the root."""

    index: int = Field(description="Bit n is 1 where the node at height n is a right child.")
    salt: str = Field(description="base64url.")
    amount: str = Field(description="The part of the balance in this leaf; decimal string.")
    path: list[SumNode] = Field(description="The sibling at each height, from the leaf up.")

    @classmethod
    def of(cls, leaf: ProvedLeaf) -> "BalanceLeaf":
        """The leaf as it is published."""
        return cls(
            index=leaf.index,
            salt=encoded(leaf.part.salt),
            amount=format_amount(leaf.part.amount),
            path=[SumNode.of(node) for node in leaf.path],
        )


class BalanceProofOut(LazyModel):
    """That the registry counts an account, with its whole balance, among what it owes."""

    agent_did: str
    balance: str = Field(description="Liquid, staked and in escrow at `as_of_event_seq`; decimal string.")
    as_of_event_seq: int
    leaves: list[BalanceLeaf] = Field(description="Two; their amounts add up to the balance.")
    attestation: AttestationOut | None = Field(
        description="The record whose member `liabilities` has the root; null until the audit cycle is attested."
    )

    @classmethod
    def of(cls, proof: BalanceProof) -> "BalanceProofOut":
        """The proof as it is published."""
        record = proof.attestation
        return cls(
            agent_did=proof.account,
            balance=format_amount(proof.balance),
            as_of_event_seq=proof.as_of_seq,
            leaves=[BalanceLeaf.of(leaf) for leaf in proof.leaves],
            attestation=AttestationOut.of(record, proof.inclusion) if record else None,
        )


class LiabilitiesOut(LazyModel):
    """The lowest public level of the tree over all accounts; each block has leaves of more than 1,024 accounts."""

    as_of_event_seq: int
    blocks: list[SumNode] = Field(description="From left to right; free blocks follow up to a power of two.")
    attestation: AttestationOut | None = Field(
        description="The record whose member `liabilities` has root and total; null until the audit cycle is attested."
    )

    @classmethod
    def of(cls, found: PublicBlocks) -> "LiabilitiesOut":
        """The level as it is published."""
        record = found.attestation
        count = len(found.blocks) // NODE_BYTES
        return cls(
            as_of_event_seq=found.as_of_seq,
            blocks=[SumNode.of(node_at(found.blocks, index)) for index in range(count)],
            attestation=AttestationOut.of(record, found.inclusion) if record else None,
        )
