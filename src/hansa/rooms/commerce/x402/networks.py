"""The two networks of x402 on which a registry settles, derived from its ledger id, without I/O.

- Wallet network: `eip155:<N>`, where N is the first 48 bits of SHA-256("hansa-wallet-network:" and the ledger id) with the
  top bit set. Its asset is a fixed pseudo address; no chain is behind it.
- Native network: `hansa:` and the first 32 hex digits of SHA-256 of the ledger id.

EIP-712: the hash of typed data that a wallet signs. Numbers are uint256.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256

from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.values import ethereum
from hansa.foundation.values.ethereum import keccak256
from hansa.rooms import ledger

SCHEME = "exact"
DOMAIN_VERSION = "1"
ASSET = sha256(b"hansa-asset").digest()[-ethereum.ADDRESS_BYTES :]
_TOP_BIT = 1 << 47
WORD_BYTES = 32
_DOMAIN_TYPE = b"EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)"
_AUTHORIZATION_TYPE = b"TransferWithAuthorization(address from,address to,uint256 value,uint256 validAfter,uint256 validBefore,bytes32 nonce)"


@dataclass(frozen=True)
class Networks:
    """The networks of one registry; `authority` is its public address, which alone says who settles."""

    ledger_id: str
    currency: str
    authority: str
    fees: ledger.FeePolicy

    @classmethod
    def of(cls, settings: Settings) -> "Networks":
        """The networks of the registry with these settings."""
        book = ledger.Book.of(settings)
        return cls(book.frame, book.currency, settings.base_url, book.fees)

    @cached_property
    def native(self) -> str:
        """The network on which payment tokens are settled."""
        return f"hansa:{sha256(self.ledger_id.encode()).hexdigest()[:32]}"

    @cached_property
    def chain_id(self) -> int:
        """The number of the wallet network."""
        digest = sha256(b"hansa-wallet-network:" + self.ledger_id.encode()).digest()
        return int.from_bytes(digest[:6]) | _TOP_BIT

    @cached_property
    def wallet(self) -> str:
        """The network on which signatures of wallets are settled."""
        return f"eip155:{self.chain_id}"

    # Its checksum takes a library that a process loads with its first wallet.
    @cached_property
    def asset(self) -> str:
        """The pseudo address of the unit on the wallet network, with its checksum."""
        return ethereum.checksum_address(ASSET)

    @cached_property
    def domain_name(self) -> str:
        """The name in the EIP-712 domain."""
        return f"Hansa {self.ledger_id}"

    @cached_property
    def domain(self) -> bytes:
        """The separator of the EIP-712 domain."""
        return domain_separator(self.domain_name, DOMAIN_VERSION, self.chain_id, ASSET)


def domain_separator(name: str, version: str, chain_id: int, contract: bytes) -> bytes:
    """The hash of a domain with these four members."""
    return keccak256(
        keccak256(_DOMAIN_TYPE)
        + keccak256(name.encode())
        + keccak256(version.encode())
        + _word(chain_id)
        + contract.rjust(WORD_BYTES, b"\0")
    )


def authorization_digest(
    domain: bytes, sender: bytes, recipient: bytes, numbers: Sequence[int], nonce: bytes
) -> bytes:
    """Digest to sign of a TransferWithAuthorization (EIP-3009); `numbers` are value, validAfter and validBefore."""
    parties = [address.rjust(WORD_BYTES, b"\0") for address in (sender, recipient)]
    members = b"".join([*parties, *map(_word, numbers), nonce])
    return keccak256(b"\x19\x01" + domain + keccak256(keccak256(_AUTHORIZATION_TYPE) + members))


def _word(number: int) -> bytes:
    return number.to_bytes(WORD_BYTES)
