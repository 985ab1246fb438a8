"""Payments that a wallet signed (EIP-3009): each settlement authorizes and settles one payment token in one commit."""

from hashlib import sha256
from uuid import UUID

import msgspec

from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage import clock
from hansa.foundation.plumbing.storage.database import Database, Tx
from hansa.foundation.plumbing.web.caller import Agent, require_permission
from hansa.foundation.values import ethereum
from hansa.foundation.values.errors import Refused, Unavailable
from hansa.foundation.values.money import Minor
from hansa.rooms import agents, ledger
from hansa.rooms.commerce import payments
from hansa.rooms.commerce.payments import Token

from . import judging, store
from .judging import Authorization, PaymentInvalid, Requirements
from .networks import Networks
from .settlement import Settlement

PERMISSION = "payment.pay"


class WalletPayment(msgspec.Struct, frozen=True):
    """Authorization of a wallet, the requirements that it is to pay, and the digest that the wallet signed."""

    authorization: Authorization
    required: Requirements
    digest: bytes

    @classmethod
    def of(cls, authorization: Authorization, required: Requirements, networks: Networks) -> "WalletPayment":
        """Build the payment, which has to meet the requirements. Raises: PaymentInvalid."""
        judging.require_as_required(authorization, required)
        return cls(authorization, required, authorization.digest(networks.domain))

    @property
    def name(self) -> str:
        """Name of the payment, before its transaction is known and after."""
        return "0x" + self.digest.hex()

    @property
    def scope(self) -> bytes:
        """Scope of an approval of the owner: repeated, the payment finds it."""
        return sha256(b"x402" + self.authorization.sender + self.authorization.nonce).digest()


async def verify_wallet(tx: Tx, payment: WalletPayment, settings: Settings) -> Minor:
    """The fee that the payment costs on top as things stand; nothing is changed. Raises: PaymentInvalid."""
    authorization = payment.authorization
    if await store.find(tx, authorization.sender, authorization.nonce):
        raise _nonce_used(payment)
    try:
        wallet = await agents.find_wallet(tx, authorization.sender)
        payer, payee = await _parties(tx, payment, wallet, settings)
        order = ledger.TransferOrder(payer.did, payee, payment.required.amount)
        if not agents.pays_plainly(payer, None):
            clearance = await agents.preview_payment(tx, payer, _judged(payment, payee, settings), settings)
            if clearance is agents.Clearance.NEEDS_APPROVAL:
                raise _approval_required(payment)
        return (await ledger.preview(tx, order, ledger.Book.of(settings))).fee
    except Unavailable:
        raise
    except Refused as refusal:
        raise PaymentInvalid(judging.reason_of(refusal), refusal.detail, authorization.payer) from None


async def settle_wallet(database: Database, payment: WalletPayment, settings: Settings) -> Settlement:
    """Pay, once; the same payment again returns the first outcome. Unknown outcomes are `settlement_pending`.

    Raises: PaymentInvalid.
    """
    try:
        try:
            return await database.transaction(lambda tx: _settle(tx, payment, settings))
        except _SettledMeanwhile:
            return await database.transaction(lambda tx: _settle(tx, payment, settings))
    except Unavailable:
        return Settlement(
            payment.name,
            payment.authorization.payer,
            payment.required.amount,
            reason=judging.SETTLEMENT_PENDING,
        )
    except _ApprovalMissing:
        await _ask_owner(database, payment, settings)
        raise _approval_required(payment) from None
    except Refused as refusal:
        raise PaymentInvalid(
            judging.reason_of(refusal), refusal.detail, payment.authorization.payer
        ) from None


class _SettledMeanwhile(Exception):
    """A rival used the nonce first; the transaction is undone, and the next one finds the outcome."""


class _ApprovalMissing(Exception):
    """The owner of the payer has to approve; the transaction is undone."""


async def _settle(tx: Tx, payment: WalletPayment, settings: Settings) -> Settlement:
    authorization = payment.authorization
    if used := await store.find(tx, authorization.sender, authorization.nonce):
        return await _outcome(tx, payment, used)
    # The row lock makes an unbinding wait for this payment: none is written after it.
    wallet = await agents.hold_wallet(tx, authorization.sender)
    payer, payee = await _parties(tx, payment, wallet, settings)
    made = await _authorize(tx, payment, payer, payee, settings)
    if not isinstance(made, payments.Authorized):
        raise _ApprovalMissing
    if not await store.claim(tx, authorization.sender, authorization.nonce, payment.digest, made.token.id):
        raise _SettledMeanwhile
    terms = payments.Terms(payer.did, payee, payment.required.amount)
    token = await payments.settle_within(tx, made.secret, terms, ledger.Book.of(settings))
    return _settled(payment, token)


async def _outcome(tx: Tx, payment: WalletPayment, used: store.Used) -> Settlement:
    """The outcome of this very payment. Raises: PaymentInvalid for another one with its nonce."""
    if used.digest != payment.digest:
        raise _nonce_used(payment)
    token = await payments.token_of_id(tx, used.token_id)
    assert token is not None, "a nonce is used in the commit of its token"
    return _settled(payment, token)


def _settled(payment: WalletPayment, token: Token) -> Settlement:
    assert token.settlement_tx_id is not None
    payer = payment.authorization.payer
    return Settlement(payment.name, payer, token.paid, token.settlement_tx_id, token.fee)


async def _parties(
    tx: Tx, payment: WalletPayment, wallet: agents.Wallet | None, settings: Settings
) -> tuple[Agent, str]:
    """The payer, which may pay, and the payee's DID. Raises: PaymentInvalid, AgentSuspended, AgentRevoked, PermissionMissing."""
    authorization = payment.authorization
    judging.require_within_window(authorization, int(await clock.seconds(tx)))
    if wallet is None or not ethereum.verify(wallet.public_key, payment.digest, authorization.signature):
        raise PaymentInvalid(
            judging.WRONG_SIGNATURE,
            "The signature is not by a wallet that is bound here, or not of this authorization on this network.",
            authorization.payer,
        )
    payee = await agents.payee_of_address(tx, authorization.recipient)
    if payee is None:
        raise PaymentInvalid(
            judging.INVALID_REQUIREMENTS, "payTo is no address of an agent here.", authorization.payer
        )
    payer = await agents.active_agent(tx, wallet.did)
    require_permission(payer, PERMISSION, settings.agent_rbac_mode)
    return payer, payee


async def _authorize(
    tx: Tx, payment: WalletPayment, payer: Agent, payee: str, settings: Settings
) -> payments.Authorized | agents.Approval:
    order = payments.AuthorizeOrder(payee, payment.required.amount)
    presented = payments.Presented(request_scope=payment.scope)
    return await payments.authorize(tx, payer, order, settings, presented)


async def _ask_owner(database: Database, payment: WalletPayment, settings: Settings) -> UUID:
    """Ask the payer's owner, in a commit of its own."""

    async def ask(tx: Tx) -> agents.Approval:
        wallet = await agents.find_wallet(tx, payment.authorization.sender)
        payer, payee = await _parties(tx, payment, wallet, settings)
        made = await _authorize(tx, payment, payer, payee, settings)
        if isinstance(made, payments.Authorized):
            raise Unavailable("The spend policy has just changed; repeat the request.", retry_after=1)
        return made

    return (await database.transaction(ask)).id


def _judged(payment: WalletPayment, payee: str, settings: Settings) -> agents.Payment:
    return agents.Payment(
        payee, payment.required.amount, settings.settlement_currency, PERMISSION, PERMISSION
    )


def _nonce_used(payment: WalletPayment) -> PaymentInvalid:
    return PaymentInvalid(
        judging.NONCE_USED, "The nonce of this address was used already.", payment.authorization.payer
    )


def _approval_required(payment: WalletPayment) -> PaymentInvalid:
    return PaymentInvalid(
        "spend_approval_required",
        "The payer's owner has to approve this payment; then settle the same authorization again.",
        payment.authorization.payer,
    )
