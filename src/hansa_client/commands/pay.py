"""`pay` makes a call that costs units, `receipt` proves its answer, `pending` ends payments of interrupted calls."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .options import USE, AgentName, AsJson, ProfileName, examples

if TYPE_CHECKING:
    import httpx2

    from hansa_client import Registry
    from hansa_client.pay import Entry, PendingPayments

SHOWN_CHARACTERS = 200
REFUSED = 400

app = typer.Typer()
pending_app = typer.Typer(
    help="Show and end the payments of calls that were interrupted.", no_args_is_help=True
)

PaymentId = Annotated[str, typer.Argument(help="Id of the payment, as `pending list` shows it.")]


@app.command(
    rich_help_panel=USE,
    epilog=examples(
        'hansa-client pay https://lingua.example/translate \'{"text": "good morning"}\' --max-amount 0.10',
        'hansa-client pay did:hansa:hansa.local:1b4e28ba-2fa1-41d2-883f-0016d3cca427 "Good morning" --max-amount 0.10',
    ),
)
def pay(
    target: Annotated[
        str, typer.Argument(help="Address to call, or DID of an agent that receives the text as a message.")
    ],
    text: Annotated[
        str | None, typer.Argument(help="Body of the request, or the message; - reads standard input.")
    ] = None,
    *,
    max_amount: Annotated[str, typer.Option(help="The most that the call may cost; fees come on top.")],
    payee: Annotated[
        str | None, typer.Option(help="Accept only this DID as payee of an address, and pay beforehand.")
    ] = None,
    call_id: Annotated[
        str | None,
        typer.Option(help="Name of the call: under the same one it is paid once, however often this is run."),
    ] = None,
    method: Annotated[
        str | None, typer.Option(help="HTTP method of an address; by default POST with a body, else GET.")
    ] = None,
    agent: AgentName = None,
    profile: ProfileName = None,
    as_json: AsJson = False,
) -> None:
    """Call a service and pay for the answer, after a check against the payee's signed card."""
    from hansa_client.pay import PayingClient, PaymentUnresolved, paying

    from .opening import as_agent, fail

    body = sys.stdin.read() if text == "-" else text
    with as_agent(profile, agent) as registry, _reported(), PayingClient(registry) as client:
        if target.startswith("did:"):
            call = _message_to(registry, target, body, call_id)
            payee = target
        else:
            call = _request_to(target, body, method)
        extensions = paying(max_amount=max_amount, payee=payee, call_id=call_id)
        try:
            response = client.send(client.build_request(**call, extensions=extensions))
        except PaymentUnresolved as unresolved:
            sentence = f"{unresolved} Run the same command again to get the answer, or end it with `pending`."
            fail(sentence, payment_id=unresolved.payment_id)
        owned = client.journal.entries_of_this_process().result()
        _show(response, owned[0] if owned else None, as_json=as_json)


@app.command(
    rich_help_panel=USE,
    epilog=examples("hansa-client receipt 5f0c4a1e9b7d4c3f8a6e2d1b0c9f8e7d --json > evidence.json"),
)
def receipt(
    payment: Annotated[str, typer.Argument(help="Id of the payment, as `pay` shows it, or of its token.")],
    *,
    agent: AgentName = None,
    profile: ProfileName = None,
    as_json: AsJson = False,
) -> None:
    """Verify the delivery receipt of a paid call and print it; --json is the evidence for a dispute."""
    from hansa_client.pay import DeliveryReceipts, Journal

    from .opening import as_agent, fail, show

    with as_agent(profile, agent) as registry, _reported():
        journal = Journal()
        try:
            evidence = DeliveryReceipts(registry, journal).evidence(payment)
        except KeyError:
            fail(f"The journal has no delivery receipt of {payment}.")
        finally:
            journal.close()
        show(evidence.receipt, evidence, as_json=as_json)


@pending_app.command("list", epilog=examples("hansa-client pending list --json"))
def list_pending(*, agent: AgentName = None, profile: ProfileName = None, as_json: AsJson = False) -> None:
    """List the payments that are not decided, after asking the registry which of them have ended."""
    from .opening import show

    with _pending(profile, agent) as pending:
        entries = pending.list()
        lines = [
            f"{one.payment_id}  {one.progress}  {_amount(one)}  {one.payee}  {one.method} {one.url}  {one.detail or ''}".rstrip()
            for one in entries
        ]
        show("\n".join(lines) or "No payments are pending.", list(entries), as_json=as_json)


@pending_app.command(
    "settle", epilog=examples("hansa-client pending settle 5f0c4a1e9b7d4c3f8a6e2d1b0c9f8e7d")
)
def settle_pending(
    payment: PaymentId,
    *,
    agent: AgentName = None,
    profile: ProfileName = None,
    as_json: AsJson = False,
) -> None:
    """Pay: the call was answered."""
    with _pending(profile, agent) as pending:
        _show_ended(pending.settle(payment), "settled", as_json=as_json)


@pending_app.command(
    "release", epilog=examples("hansa-client pending release 5f0c4a1e9b7d4c3f8a6e2d1b0c9f8e7d")
)
def release_pending(
    payment: PaymentId,
    *,
    agent: AgentName = None,
    profile: ProfileName = None,
    as_json: AsJson = False,
) -> None:
    """Do not pay: the call was not answered."""
    with _pending(profile, agent) as pending:
        _show_ended(pending.release(payment), "released", as_json=as_json)


@contextmanager
def _pending(profile: str | None, agent: str | None) -> "Iterator[PendingPayments]":
    from hansa_client.pay import Journal, PendingPayments

    from .opening import as_agent, fail

    with as_agent(profile, agent) as registry, _reported():
        journal = Journal()
        try:
            yield PendingPayments(registry, journal)
        except KeyError as unknown:
            fail(f"The journal has no payment {unknown.args[0]} of this agent.")
        finally:
            journal.close()


@contextmanager
def _reported() -> Iterator[None]:
    """End the command with one line where the service does not answer, or the journal cannot be used."""
    from sqlite3 import Error

    import httpx2

    from hansa_client.pay.journal import default_path

    from .opening import fail

    try:
        yield
    except Error as error:
        fail(f"The journal of payments, {default_path()}, cannot be used: {error}.")
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        fail(f"The service does not answer: {type(error).__name__}: {error}".rstrip(": "))


def _request_to(url: str, body: str | None, method: str | None) -> dict[str, Any]:
    import msgspec

    if not url.startswith(("http://", "https://")):
        raise ValueError(f"the target is an http or https address or a DID, got {url!r}")
    request: dict[str, Any] = {"method": method or ("GET" if body is None else "POST"), "url": url}
    if body is not None:
        try:
            msgspec.json.decode(body)
            kind = "application/json"
        except msgspec.DecodeError:
            kind = "text/plain; charset=utf-8"
        request |= {"content": body.encode(), "headers": {"Content-Type": kind}}
    return request


def _message_to(registry: "Registry", did: str, text: str | None, call_id: str | None) -> dict[str, Any]:
    """A2A's SendMessage, the same in every attempt: an interrupted call continues with its payment."""
    from hashlib import sha256

    if text is None:
        raise ValueError("an agent is called with a message: give its text after the DID")
    interfaces = (registry.cards.read(did).card_data or {}).get("supportedInterfaces") or []
    url = next((one["url"] for one in interfaces if one.get("protocolBinding") == "JSONRPC"), None)
    if url is None:
        raise ValueError(f"the card of {did} names no JSON-RPC address; call its service by URL with --payee")
    message_id = sha256("\n".join([did, call_id or "", text]).encode()).hexdigest()[:32]
    message = {"messageId": message_id, "role": "ROLE_USER", "parts": [{"text": text}]}
    return {
        "method": "POST",
        "url": url,
        "json": {"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {"message": message}},
        "headers": {"A2A-Version": "1.0"},
    }


def _show(response: "httpx2.Response", entry: "Entry | None", *, as_json: bool) -> None:
    from .opening import fail, show

    members: dict[str, Any] = {"status": response.status_code, "body": response.text, "payment": entry}
    sentence = "Nothing was paid."
    if entry is not None and entry.progress not in {"released", "failed", "expired"}:
        sentence = f"Paid {_amount(entry)} to {entry.payee}: {entry.progress}, payment {entry.payment_id}."
    if response.status_code >= REFUSED:
        said = " ".join(response.text.split())[:SHOWN_CHARACTERS]
        fail(
            f"The service answered with status {response.status_code}. {sentence} {said}".rstrip(), **members
        )
    show(f"{response.text}\n{sentence}", members, as_json=as_json)


def _show_ended(entry: "Entry", expected: str, *, as_json: bool) -> None:
    from .opening import fail, show

    if entry.progress != expected:
        fail(f"The payment {entry.payment_id} had ended before: {entry.progress}.")
    show(f"{entry.progress}  {_amount(entry)}  {entry.payee}", entry, as_json=as_json)


def _amount(entry: "Entry") -> str:
    return f"{entry.amount:f} {entry.currency or ''}".rstrip()
