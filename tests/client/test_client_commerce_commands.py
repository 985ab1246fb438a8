"""`hansa-client contract`, `dispute`, `bond`, `wallet`, `webhook` and the payment commands, as their user types them."""

import json
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from typer.testing import CliRunner

from hansa.doors.commands.program import app as server_app
from hansa.rooms.commerce.contracts import CONTRACT_DEADLINES
from hansa_client import AgentCredentials, AsyncRegistry
from hansa_client.receipts import DeliveryReceipt, sign_receipt
from hansa_client.records.payments import AuthorizedToken
from tests.client.terminal import Typed, logged_in
from tests.registry import PASSWORD, TestRegistry
from tests.rooms.commerce.agreements import CONTRACTS_EARLIER
from tests.running_jobs import run_due, time_passes
from tests.wallets import TestWallet

PROPOSAL = ("contract", "create", "--title", "Manual", "--amount", "10", "--terms", "Translate.")

KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))


@pytest.fixture
async def at(address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Typed:
    """A user with a customer, which holds 100 units, and a painter, which is paid per call."""
    monkeypatch.setenv("HANSA_CLIENT_DIR", str(tmp_path / "client"))
    monkeypatch.setenv("HANSA_CLIENT_PASSWORD", PASSWORD)
    at = Typed(tmp_path)
    await logged_in(at, address)
    await at.run("agent", "create", "--name", "Customer")
    await at.run("agent", "create", "--name", "Painter", "--price", "0.05")
    return at


async def did_of(at: Typed, name: str) -> str:
    return (await at.json("agent", "show", name))["did"]


async def test_contracts_from_the_proposal_to_the_payment(at: Typed, tmp_path: Path):
    painter = await did_of(at, "Painter")
    work = tmp_path / "manual.txt"
    work.write_text("the manual")
    by_painter = ("--agent", "Painter")
    parts = ("--milestone", "Draft=4", "--milestone", "Final=6")
    made = await at.json(
        *PROPOSAL, "--criteria", "French.", "--provider", painter, *parts, "--key", "order-1"
    )
    again = await at.json(
        *PROPOSAL, "--criteria", "French.", "--provider", painter, *parts, "--key", "order-1"
    )
    assert (made["id"], made["status"]) == (again["id"], "PROPOSED")
    number = str(made["id"])
    accepted = await at.run("contract", "accept", number, *by_painter)
    assert accepted.startswith(f"{number}  ACCEPTED  10 AVT  Manual\n")
    await at.run(
        "contract", "submit", number, "--file", str(work), "--uri", "https://x.example/1", *by_painter
    )
    await at.run("contract", "request-changes", number, "--note", "Page 3 is missing.")
    await at.run("contract", "submit", number, "--file", str(work), *by_painter)
    assert "  0  approved  4  Draft\n" in await at.run("contract", "approve", number, "--milestone", "0")
    await at.run("contract", "submit", number, *by_painter)
    await at.run("contract", "approve", number)
    shown = await at.run("contract", "show", number)
    assert shown.startswith(f"{number}  COMPLETED  10 AVT  Manual\n")
    assert "paid 10 of 10 AVT\n" in shown
    assert "changes_requested  Page 3 is missing." in shown
    assert (
        await at.run("contract", "list", "--role", "contractor") == f"{number}  COMPLETED  10 AVT  Manual\n"
    )
    assert await at.run("balance", *by_painter) == "10\n"


async def test_an_open_proposal_states_the_bond_and_the_record_that_its_provider_needs(at: Typed):
    later = (datetime.now(UTC) + timedelta(days=30)).date().isoformat()
    offered = [*PROPOSAL, "--criteria", "French.", "--funded", "--review-by", later]
    both = await at.run(*offered, "--provider-bond-min", "2.5", "--provider-jobs-min", "3")
    assert "the provider needs a bond of 2.5 AVT or 3 verified jobs\n" in both
    record = await at.json(*offered, "--provider-jobs-min", "0")
    assert (record["provider_bond_min"], record["provider_jobs_min"]) == (None, 0)
    assert "the provider needs a bond of 0.1 AVT\n" in await at.run(*offered)
    accepted = await at.run("contract", "accept", str(record["id"]), "--agent", "Painter")
    assert "  ACCEPTED  10 AVT  " in accepted
    assert "an amount is a decimal number" in await at.run(*offered, "--provider-bond-min", "two", code=1)
    unfunded = [*PROPOSAL, "--criteria", "French.", "--provider-jobs-min", "3"]
    assert "provider_jobs_min is for funded proposals" in await at.run(*unfunded, code=1)


async def test_proposals_that_end_without_a_payment(at: Typed):
    painter = await did_of(at, "Painter")
    later = (datetime.now(UTC) + timedelta(days=30)).date().isoformat()
    dates = ("--funded", "--review-by", later, "--auto-approve")
    first = await at.json(*PROPOSAL, "--criteria", "French.")
    second = await at.json(*PROPOSAL, "--criteria", "French.", "--provider", painter, *dates)
    assert second["review_by"].startswith(later)
    opened = await at.run("contract", "list", "--open", "--agent", "Painter")
    assert opened == f"{first['id']}  PROPOSED  10 AVT  Manual\n"
    await at.run("contract", "cancel", str(first["id"]), "--reason", "Done by us.")
    await at.run("contract", "accept", str(second["id"]), "--agent", "Painter")
    assert await at.run("balance") == "89.95\n"
    failed = await at.json("contract", "reject", str(second["id"]), "--reason", "Too late.")
    assert (failed["status"], failed["ended_because"]) == ("FAILED", "rejected")
    assert await at.run("balance") == "100\n"
    wrong = [*PROPOSAL, "--criteria", "French."]
    assert "a milestone is TITLE=AMOUNT" in await at.run(*wrong, "--milestone", "Draft", code=1)
    assert "a date is ISO 8601" in await at.run(*wrong, "--submit-by", "tomorrow", code=1)
    assert "state the --file" in await at.run("contract", "submit", "1", "--uri", "https://x.example", code=1)
    assert "CONTRACT_UNKNOWN" in await at.run("contract", "show", "999", code=1)


async def test_disputes_from_the_complaint_to_the_facts(at: Typed, registry: TestRegistry, tmp_path: Path):
    painter = await did_of(at, "Painter")
    contract = await at.json(*PROPOSAL, "--criteria", "French.", "--provider", painter)
    number = str(contract["id"])
    await at.run("contract", "accept", number, "--agent", "Painter")
    reason = ("--reason", "POOR_QUALITY", "--description", "Half of it.", "--amount", "5", "--key", "first")
    filed = await at.json("dispute", "file", painter, "--contract", number, *reason)
    assert (await at.json("dispute", "file", painter, "--contract", number, *reason))["id"] == filed["id"]
    dispute = str(filed["id"])
    signed = tmp_path / "receipt.jws"
    signed.write_text(sign_receipt(DeliveryReceipt.of("token-1", b"", b""), KEY) + "\n")
    by_painter = ("--agent", "Painter")
    given = await at.json("dispute", "evidence", dispute, "--receipt", str(signed), *by_painter)
    note = signed.read_text().strip()
    assert [(one["note"], one["sha256"]) for one in given["evidence"]] == [
        (note, sha256(note.encode()).hexdigest())
    ]
    page = tmp_path / "page.txt"
    page.write_text("page 3")
    await at.run("dispute", "evidence", dispute, "--file", str(page), "--uri", "https://x.example/3")
    shown = await at.run("dispute", "show", dispute)
    assert shown.startswith(f"{dispute}  OPEN  POOR_QUALITY  Half of it.\n")
    assert "at most 5\n" in shown
    assert f"{sha256(b'page 3').hexdigest()}  https://x.example/3\n" in shown
    listed = f"{dispute}  OPEN  POOR_QUALITY  Half of it.\n"
    assert await at.run("dispute", "list", "--role", "defendant", *by_painter) == listed
    assert await at.run("dispute", "list", "--role", "defendant") == "No disputes.\n"
    assert (await at.run("dispute", "bundle", dispute)).startswith("no ruling  undecidable: ")
    bundle, keys = tmp_path / "bundle.json", tmp_path / "keys.json"
    bundle.write_text(await at.run("dispute", "bundle", dispute, "--json"))
    keys.write_text((await registry.http.get("/.well-known/registry-jwks.json")).text)
    verified = CliRunner().invoke(server_app, ["verify", "verdict", str(bundle), "--keys", str(keys)])
    assert verified.exit_code == 0, verified.output
    wrong = ("dispute", "evidence", dispute)
    assert "either the --file" in await at.run(*wrong, code=1)
    assert "leave --note out" in await at.run(*wrong, "--receipt", str(signed), "--note", "Mine", code=1)
    assert "a compact JWS of three parts" in await at.run(*wrong, "--receipt", str(page), code=1)


async def test_an_administrator_rules_as_the_facts_propose_or_says_why(at: Typed, registry: TestRegistry):
    painter = await did_of(at, "Painter")
    number = str((await at.json(*PROPOSAL, "--criteria", "French.", "--provider", painter))["id"])
    await at.run("contract", "accept", number, "--agent", "Painter")
    recorded = await at.json(
        "dispute", "malpractice", number, "--description", "Nothing came.", "--amount", "5"
    )
    dispute = str(recorded["dispute_id"])
    of_painter = ("--of", painter)
    line = f"{dispute}  OPEN  CONTRACT_VIOLATION  Nothing came.\n"
    assert await at.run("dispute", "list", *of_painter) == line
    assert (await at.run("contract", "list", *of_painter)).startswith(f"{number}  DISPUTED  ")
    assert "--of takes" in await at.run("contract", "list", "--open", *of_painter, code=1)
    assert f"/contracts/{number}?ticket=" in await at.run("contract", "link", number)
    assert "either a --description" in await at.run("dispute", "malpractice", number, code=1)
    administrator = await registry.administrator("admin_enforcement")
    url = (await at.json("profile", "list"))["profiles"]["default"]["url"]
    by = ("--profile", "administrator")
    await at.run("login", url, "--email", administrator.email, *by)
    assert await at.run("dispute", "list-all", "--status", "OPEN", *by) == line
    assert "ACCESS_DENIED" in await at.run("dispute", "list-all", "--profile", "default", code=1)
    assert (await at.run("dispute", "open-voting", dispute, *by)).startswith(f"{dispute}  VOTING")
    assert "either a ruling or --follow" in await at.run("dispute", "rule", dispute, *by, code=1)
    assert "propose no ruling" in await at.run("dispute", "rule", dispute, "--follow", *by, code=1)
    ruling = ("IN_FAVOR_OF_COMPLAINANT", "--slash", "2", "--note", "Nothing came.")
    ruled = await at.json("dispute", "rule", dispute, *ruling, *by)
    assert (ruled["status"], ruled["slash_requested"]) == ("CLOSED", "2")
    assert await at.json("dispute", "rule", dispute, *ruling, *by) == ruled
    assert await at.run("balance", "--profile", "default") == "100\n"


async def test_an_administrator_follows_what_the_facts_propose(at: Typed, registry: TestRegistry):
    painter = await did_of(at, "Painter")
    due = (datetime.now(UTC) + timedelta(days=1)).isoformat()
    terms = ("--criteria", "French.", "--provider", painter, "--submit-by", due)
    number = str((await at.json(*PROPOSAL, *terms))["id"])
    await at.run("contract", "accept", number, "--agent", "Painter")
    moved = CONTRACTS_EARLIER.replace("$2::interval", "interval '2 days'")
    await registry.database.transaction(lambda tx: tx.execute(moved, [int(number)]))
    await time_passes(registry.runtime, timedelta(days=2).total_seconds())
    await run_due(registry.runtime, CONTRACT_DEADLINES)
    reason = ("--reason", "SERVICE_NOT_DELIVERED", "--description", "Nothing came.")
    dispute = str((await at.json("dispute", "file", painter, "--contract", number, *reason))["id"])
    assert (await at.run("dispute", "bundle", dispute)).startswith("IN_FAVOR_OF_COMPLAINANT  ")
    administrator = await registry.administrator("admin_enforcement")
    url = (await at.json("profile", "list"))["profiles"]["default"]["url"]
    await at.run("login", url, "--email", administrator.email, "--profile", "administrator")
    await at.run("dispute", "open-voting", dispute)
    ruled = await at.json("dispute", "rule", dispute, "--follow")
    assert (ruled["status"], ruled["ruling"], ruled["note"]) == ("CLOSED", "IN_FAVOR_OF_COMPLAINANT", None)


async def test_a_bond_from_the_deposit_to_its_release(at: Typed):
    assert await at.run("bond", "config") == "observe  at least 100 AVT  matures in 14 days\n"
    customer = await did_of(at, "Customer")
    for _ in range(2):
        deposited = await at.run("bond", "deposit", "100", "--key", "bond-1")
        assert deposited.startswith(f"{customer}  active  100\n")
    assert await at.run("bond", "status") == await at.run("bond", "status", customer)
    assert await at.run("balance") == "0\n"
    assert "can be unlocked from" in await at.run("bond", "release")
    assert "BOND_BLOCKED" in await at.run("bond", "unlock", code=1)


async def test_a_stake_and_the_place_of_its_rewards(at: Typed, registry: TestRegistry):
    await registry.database.transaction(lambda tx: tx.execute("UPDATE agents_agent SET roles = '{staker}'"))
    for _ in range(2):
        staked = await at.run("stake", "add", "30", "--key", "stake-1")
    position = staked.split()[0]
    assert staked.startswith(f"{position}  30  until ")
    assert (await at.run("stake", "compound", position)).endswith("rewards are added\n")
    assert (await at.run("stake", "list")).endswith("rewards are added\n")
    assert "added" not in await at.run("stake", "compound", position, "--off")
    assert "staking_rewards_disabled" in await at.run("stake", "claim", code=1)
    assert await at.run("stake", "release", "10", position) == f"{position}  10  rest 20\n"


async def test_payments_one_by_one_and_many_at_once(at: Typed, tmp_path: Path):
    painter = await did_of(at, "Painter")
    assert await at.run("quote", painter) == "0.05025 AVT: 0.05 and a fee of 0.00025\n"
    assert (await at.json("quote", painter, "--firm", "--amount", "2"))["quote_token"]
    refused = await at.run("buy", painter, "Good morning", "--max-amount", "0.01", code=1)
    assert "PRICE_ABOVE_MAXIMUM" in refused
    lines = tmp_path / "wages.json"
    lines.write_text(f"""[{{"receiver_did": "{painter}", "amount": "2", "key": "june"}}]""")
    for _ in range(2):
        assert await at.run("send-many", str(lines), "--atomic") == "1 completed, 0 refused\n"
    assert await at.run("balance", "--agent", "Painter") == "2\n"
    made = await authorized(at, painter)
    tokens = tmp_path / "tokens"
    tokens.write_text(made.token + "\n" + "apt_" + "0" * 64 + "\n")
    assert await at.run("settle-many", str(tokens)) == "0  settled\n1  PAYMENT_TOKEN_UNKNOWN\n"
    (paid,) = await at.json("tokens", "--role", "payee", "--agent", "Painter")
    assert paid["token_id"] == made.token_id
    unused = await authorized(at, painter)
    assert await at.run("release", unused.token_id) == f"released  {unused.token_id}\n"


async def authorized(at: Typed, payee: str) -> AuthorizedToken:
    """A payment token of the customer, which another program of its owner holds."""
    file = at.home / f"customer-{len(at.said)}.json"
    await at.run("agent", "export", str(file))
    agent = json.loads(file.read_text())
    credentials = AgentCredentials(agent["client_id"], agent["client_secret"])
    async with AsyncRegistry(agent["registry_url"], agent=credentials) as registry:
        return await registry.payments.authorize(payee, "1")


async def test_wallets_and_webhooks(at: Typed, tmp_path: Path):
    wallet = TestWallet()
    challenge, signature = tmp_path / "challenge", tmp_path / "signature"
    challenge.write_text(await at.run("wallet", "challenge", wallet.address))
    signature.write_text(wallet.sign_text(challenge.read_text().rstrip("\n")) + "\n")
    assert wallet.address in await at.run("wallet", "bind", wallet.address, str(challenge), str(signature))
    assert (await at.run("wallet", "list")).startswith(f"{wallet.address}  bound ")
    await at.run("wallet", "delete", wallet.address)
    secret = tmp_path / "secret"
    create = ("webhook", "create", "https://receiver.example.com/hook", "--event", "payment.settled")
    made = await at.json(*create, "--secret-file", str(secret))
    assert secret.read_text().startswith("whsec_")
    assert "it exists" in await at.run(*create, "--secret-file", str(secret), code=1)
    hook = made["id"]
    line = f"{hook}  active  https://receiver.example.com/hook  payment.settled\n"
    assert await at.run("webhook", "list") == line
    version = (await at.json("webhook", "show", hook))["secret_version"]
    shown = await at.run("webhook", "show", hook)
    assert shown == line.replace("\n", f"  secret version {version}\n")
    sent = await at.json("webhook", "test", hook)
    assert (await at.run("webhook", "deliveries", hook)).startswith(f"{sent['id']}  ")
    assert (await at.json("webhook", "resend", hook, sent["id"]))["id"] == sent["id"]
    rotate = ("webhook", "rotate-secret", hook, "--secret-version", version, "--secret-file")
    await at.run(*rotate, str(tmp_path / "new"))
    await at.run(*rotate, str(tmp_path / "newer"), code=1)
    assert not (tmp_path / "newer").exists()
    assert "stopped by owner" in await at.run("webhook", "change", hook, "--stop")
    assert await at.run("webhook", "delete", hook) == f"{hook}  deleted\n"
    assert await at.run("webhook", "list") == "No webhooks.\n"
    assert [
        one for one in (secret.read_text(), (tmp_path / "new").read_text()) if one.strip() in at.said
    ] == []
