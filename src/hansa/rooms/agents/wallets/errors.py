"""Why a wallet is not bound."""

from hansa.foundation.values.errors import Conflict, Forbidden, Invalid, NotFound


class AddressMalformed(Invalid):
    """The address is not `0x` and 40 hexadecimal digits, or its checksum (EIP-55) is wrong."""

    code = "WALLET_ADDRESS_MALFORMED"
    sentence = (
        "address must be 0x and 40 hexadecimal digits, with the checksum of EIP-55 if its case is mixed."
    )


class ChallengeRefused(Forbidden):
    """The challenge was not issued to this agent for this address, has expired, or a newer one replaced it."""

    code = "WALLET_CHALLENGE_REFUSED"
    sentence = "The challenge is not the newest one of this agent for this address, or has expired; request a new one."


class SignatureRefused(Forbidden):
    """The signature of the challenge is not by the key of this address."""

    code = "WALLET_SIGNATURE_REFUSED"
    sentence = "The signature is not an EIP-191 signature of the challenge by the key of this address."


class WalletOfAnother(Conflict):
    """The address is bound to another agent."""

    code = "WALLET_OF_ANOTHER"
    sentence = "This address is bound to another agent; an address belongs to one agent."


class TooManyWallets(Conflict):
    """The agent has as many wallets as it may have."""

    code = "TOO_MANY_WALLETS"


class WalletUnknown(NotFound):
    """No wallet of this agent has that address."""

    code = "WALLET_UNKNOWN"
    sentence = "No wallet of this agent has that address."
