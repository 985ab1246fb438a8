"""Secrets of every kind, made by a registry and written to a log, are stored nowhere."""

import json
import re
from pathlib import Path

import pytest

from hansa.foundation.values.secret_forms import KINDS, without_secrets
from hansa.rooms.operations.logs import NOTES, Note, new_entry, write_notes
from tests.hostile import test_secret_canaries as canaries
from tests.registry import StartRegistry

SOURCE = Path(canaries.__file__).parents[2] / "src" / "hansa"
MADE_OF_HEX = re.compile(
    r'new_hex\(\s*"([a-z0-9]+_(?:v1_)?)"|^\w*PREFIX = "([a-z0-9]+_(?:v1_)?)"', re.MULTILINE
)
NO_SECRETS = {"hcl_", "int_", "input_"}
"""Ids of clients and intents, names of form fields."""
# They have no form, one that other text has as well, or only within the frame of a PEM.
FORMLESS = re.compile("^(password|seed of an app|backup code as it is compared|mailed token|certificate key)")


def test_every_prefix_of_a_secret_is_known():
    found = {
        prefix
        for path in SOURCE.rglob("*.py")
        for match in MADE_OF_HEX.findall(path.read_text())
        for prefix in match
        if prefix
    }
    assert found - NO_SECRETS - {"whsec_"} == set(KINDS)


@pytest.mark.parametrize("around", ["{}", "x{}y", '"{}"', "token={};", "a.{}", "_{}_", "\x1b[31m{}\x1b[0m"])
def test_a_secret_is_found_in_any_surroundings(around: str):
    token = "eyJhbGciOiJFZERTQSJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl"
    for secret in (*(prefix + "0a" * 32 for prefix in KINDS), "whsec_" + "A" * 43 + "=", token):
        assert secret not in without_secrets(around.format(secret))


def test_a_public_proof_and_plain_text_stay():
    proof = "eyJ0eXAiOiJyZWNlaXB0K2p3cyJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl"
    for text in (proof, "apt_get", "3fa85f64-5717-4562-b3fc-2c963f66afa6", "www.example.org", "a" * 10_000):
        assert without_secrets(text) == text


@pytest.mark.parametrize(
    "shape", ["eyJ", "eyJ.", "-----BEGIN PRIVATE KEY-----", "apt_", "1234-", "HANSA-", "a."]
)
def test_the_filter_takes_time_in_proportion_to_the_text(shape: str):
    # A pattern that began again at each character would take hours.
    without_secrets(shape * (1_000_000 // len(shape)))


def test_a_private_key_is_redacted_whole_and_also_without_its_end():
    key = "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIKPPwDpj\n-----END PRIVATE KEY-----"
    assert without_secrets(f"before {key} after") == "before [redacted:private_key] after"
    assert without_secrets(key[:50]) == "[redacted:private_key]"
    entry = new_entry("INFO", "x", {key: [key.replace("\n", "\\n")]})
    assert json.loads(entry.metadata or "") == {"[redacted:private_key]": ["[redacted:private_key]"]}


async def test_secrets_that_a_registry_made_are_not_stored(start_registry: StartRegistry):
    registry = await start_registry(public_base_url="https://registry.test", email_verification_required=True)
    talk = canaries.Conversation(registry.http, registry)
    await canaries.be_invited(talk)
    await canaries.become_a_developer(talk)
    await canaries.get_back_into_an_account(talk)
    await canaries.make_an_agent(talk)
    await canaries.be_admitted(talk)
    await canaries.connect_a_client(talk)
    await canaries.be_asked_into_an_organization(talk)
    formed = {name: secret for name, secret in talk.secrets.items() if not FORMLESS.match(name)}
    assert len(formed) >= 25
    headers = {"Authorization": f"Bearer {talk.secrets['token of the payer']}"}
    path = f"/agents/{(await registry.get('/agents/me', headers=headers)).json()['did']}/logs"
    for name, secret in formed.items():
        entry = {"level": "INFO", "message": f"{name}: {secret}", "log_metadata": {secret: [secret]}}
        written = await registry.post(path, json=entry, headers=headers)
        assert written.status_code == 201, written.text
    did = path.split("/")[2]
    for name, secret in formed.items():
        NOTES.of(registry.runtime).note(did, Note("WARN", f"{name} was refused.", secret), {"sent": secret})
        NOTES.of(registry.runtime).note(secret, Note("WARN", "Refused.", secret))
    await write_notes(registry.runtime)
    stored = (await registry.get(path, params={"limit": 500}, headers=headers)).text
    rows = await registry.database.read(
        lambda tx: tx.fetchval("SELECT string_agg(e::text, ' ') FROM operations_log_entry e")
    )
    assert [name for name, secret in formed.items() if secret in stored or secret in rows] == []
    assert stored.count("[redacted:") >= 5 * len(formed)
    exposed = await registry.get(f"/agent-metrics/{did}", params={"format": "prometheus"}, headers=headers)
    assert [name for name, secret in formed.items() if secret in exposed.text] == []
