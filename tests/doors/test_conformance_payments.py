"""`hansa conformance payments`: this registry and a facilitator without Hansa pass; each planted defect is found by its rule."""

import asyncio
import json
from pathlib import Path
from time import sleep
from typing import Any

import pytest
from typer.testing import CliRunner

from hansa.doors.commands.program import app
from hansa.doors.conformance import SUITES, payments
from tests.doors import tiny_facilitator
from tests.doors.tiny_facilitator import facilitator

VARIABLES = {"CONFORMANCE_PAYER_TOKEN": "payer-secret", "CONFORMANCE_PAYEE_TOKEN": "payee-secret"}


def run(url: str, *arguments: str, variables: dict[str, str] | None = None) -> tuple[int, str]:
    given = VARIABLES if variables is None else variables
    ended = CliRunner().invoke(app, ["conformance", "payments", url, *arguments], env=given)
    return ended.exit_code, ended.stdout + ended.stderr


def outcomes(said: str) -> dict[str, set[str]]:
    """Rules by their outcome."""
    rules = json.loads(said)["rules"]
    return {
        outcome: {rule["id"] for rule in rules if rule["outcome"] == outcome}
        for outcome in ("broken", "not checked")
    }


async def test_this_registry_passes_the_suite_of_payments(registry, monkeypatch):
    payer, payee = await registry.agent(name="Payer"), await registry.agent(name="Payee")
    loop = asyncio.get_running_loop()

    def minute_passes(seconds: float) -> None:
        if seconds < 1:
            sleep(seconds)
            return
        moved = """UPDATE commerce_payment_token SET created_at = created_at - interval '2 minutes',
          expires_at = expires_at - interval '2 minutes' WHERE status = 'authorized'"""
        passing = registry.database.transaction(lambda tx: tx.execute(moved))
        asyncio.run_coroutine_threadsafe(passing, loop).result(20)

    monkeypatch.setattr(payments, "sleep", minute_passes)
    variables = {"CONFORMANCE_PAYER_TOKEN": payer.token, "CONFORMANCE_PAYEE_TOKEN": payee.token}
    async with registry.listening() as place:
        exit_code, said = await asyncio.to_thread(
            run, f"http://{place}", "--json", "--wait-for-expiry", variables=variables
        )
    assert exit_code == 0, said
    assert outcomes(said) == {"broken": set(), "not checked": set()}
    assert await payee.balance() == "100.03"


def test_a_facilitator_without_hansa_passes_the_suite():
    with facilitator() as url:
        exit_code, said = run(url, "--json", "--wait-for-expiry")
    assert (exit_code, outcomes(said)) == (0, {"broken": set(), "not checked": set()}), said
    assert "hansa" not in Path(tiny_facilitator.__file__).read_text().split('"""')[2]


@pytest.mark.parametrize(
    ("defect", "rules"),
    [
        ("pays_again", {"PAY-11", "PAY-12"}),
        ("pays_more", {"PAY-11", "PAY-12"}),
        ("states_more", {"PAY-07"}),
        ("accepts_expired", {"PAY-16"}),
        ("accepts_other_payee", {"PAY-09"}),
        ("consumes_for_others", {"PAY-09"}),
        ("settles_for_others", {"PAY-10"}),
        ("pays_released", {"PAY-14"}),
        ("fails_on_bodies", {"PAY-18"}),
        ("forgets_keys", {"PAY-06"}),
    ],
)
def test_each_planted_defect_is_found_by_its_rule(defect: str, rules: set[str]):
    with facilitator(defect) as url:
        exit_code, said = run(url, "--json", "--wait-for-expiry")
    assert (exit_code, outcomes(said)["broken"]) == (1, rules), said


def test_without_the_option_the_rule_of_expiry_is_not_checked():
    with facilitator() as url:
        exit_code, said = run(url, "--json")
    assert (exit_code, outcomes(said)["not checked"]) == (0, {"PAY-16"})


def test_tokens_come_from_files_as_well_and_are_never_printed(tmp_path: Path):
    files = []
    for name in ("payer", "payee"):
        file = tmp_path / name
        file.write_text(f"{name}-secret\n")
        files.append(f"--{name}-token={file}")
    with facilitator() as url:
        exit_code, said = run(url, *files, variables={})
    assert (exit_code, "-secret" in said, "apt_" in said) == (0, False, False)
    assert (
        said.splitlines()[-1]
        == f"conforms: {len(SUITES['payments'].rules) - 1} holds, 0 broken, 1 not checked"
    )


@pytest.mark.parametrize(
    ("arguments", "variables"),
    [
        ((), {}),
        ((), {"CONFORMANCE_PAYER_TOKEN": "a"}),
        ((), {"CONFORMANCE_PAYER_TOKEN": "a b", "CONFORMANCE_PAYEE_TOKEN": "c"}),
        (("--payer-token=/absent",), VARIABLES),
        (("--amount=0",), VARIABLES),
        (("--amount=-1",), VARIABLES),
        (("--amount=1e3",), VARIABLES),
    ],
)
def test_unusable_options_are_exit_2_in_one_line(arguments: tuple[str, ...], variables: dict[str, Any]):
    exit_code, said = run("http://127.0.0.1:1", *arguments, variables=variables)
    assert (exit_code, len(said.splitlines())) == (2, 1), said
