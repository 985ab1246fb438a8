"""EIP-712: the hash of typed data that a wallet signs. Numbers are uint256."""

from collections.abc import Sequence

from hansa.foundation.values.ethereum import keccak256

WORD_BYTES = 32

_DOMAIN_TYPE = b"EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)"
_AUTHORIZATION_TYPE = b"TransferWithAuthorization(address from,address to,uint256 value,uint256 validAfter,uint256 validBefore,bytes32 nonce)"


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
