"""The way from nothing to a first payment, as commands for a shell with curl. Each works as it stands, in order."""

import shlex
from collections.abc import Iterator
from dataclasses import dataclass

from hansa.foundation.plumbing.settings import Settings


@dataclass(frozen=True)
class Step:
    """One thing to do, why, and the command that does it; a step without a command is done elsewhere."""

    title: str
    reason: str
    command: str = ""


def first_steps(settings: Settings) -> Iterator[Step]:
    """The steps as they go on a registry with these settings."""
    yield Step(
        "Tell the shell where the registry is",
        "The answers are kept in a directory of their own, because some carry secrets; `field` picks one "
        "member out of an answer.",
        f"""
cd "$(mktemp -d)"
REGISTRY={shlex.quote(settings.base_url + "/api/v1")}
field() {{ sed -n "s/.*\\"$1\\": *\\"\\([^\\"]*\\)\\".*/\\1/p"; }}
""",
    )
    yield _registration(settings)
    if settings.email_verification_required:
        yield Step(
            "Verify the address",
            "This registry mails you a link. Follow it, then go on here.",
        )
    yield Step(
        "Log in",
        "The developer token acts for you: accounts, agents, keys. "
        f"It lasts {settings.access_token_expire_minutes} minutes.",
        """
curl -sSw '\\n' "$REGISTRY/auth/login" \\
  --data-urlencode "username=$EMAIL" --data-urlencode "password=$PASSWORD" | tee login.json
DEVELOPER_TOKEN=$(field access_token < login.json)
""",
    )
    yield Step(
        "Ask for a bootstrap token",
        f"It creates one agent, works once and lasts {settings.bootstrap_token_lifetime} seconds.",
        _bootstrap(),
    )
    yield Step(
        "Create an agent that pays",
        "The answer holds the agent's permanent identity (its DID), its client secret and its private key. Both "
        f"secrets are shown this once. {_grant(settings)}",
        _creation(settings, "payer", "Reader", "Buys translations of what it reads.", "reading"),
    )
    yield Step(
        "Create an agent that is paid",
        "Every agent needs a bootstrap token of its own.",
        _bootstrap()
        + _creation(
            settings, "payee", "Translator", "Translates between English and Low German.", "translation"
        ),
    )
    yield Step(
        "Get an agent token",
        "It acts for one agent: transfers, balances, payments. The other agent gets one the same way.",
        _agent_token("payer") + _agent_token("payee").lstrip("\n"),
    )
    yield Step(
        "Discover an agent",
        "Anyone may ask; a new card is found at once, in another process of the registry within a second. Each result names the DID to pay; its card says where to call it.",
        """
curl -sSw '\\n' "$REGISTRY/discover?query=translator"
PAYEE=$(field agent_did < payee.json)
""",
    )
    yield Step(
        "Transfer",
        "The payee receives the amount whole; the payer pays a fee on top. Amounts are strings. Send it again with "
        "the same key: the answer is the same and nothing moves twice.",
        """
curl -sSw '\\n' "$REGISTRY/teg/transfer" \\
  -H "Authorization: Bearer $PAYER_TOKEN" \\
  -H 'Content-Type: application/json' -H 'Idempotency-Key: my-first-transfer' -d @- <<END
{"receiver_agent_id": "$PAYEE", "amount": "1", "message": "My first transfer"}
END
""",
    )
    yield Step(
        "Read both balances",
        "Each agent reads its own.",
        """
curl -sSw '\\n' "$REGISTRY/teg/balance" -H "Authorization: Bearer $PAYER_TOKEN"
curl -sSw '\\n' "$REGISTRY/teg/balance" -H "Authorization: Bearer $PAYEE_TOKEN"
""",
    )
    yield Step(
        "Check the supply",
        "Recomputed from the log at the moment you ask: what was issued and not destroyed is what circulates, and "
        "delta is exactly 0.",
        """
curl -sSw '\\n' "$REGISTRY/public/supply-invariant"
""",
    )


def _registration(settings: Settings) -> Step:
    invitation = "INVITE_CODE='the code you were given'\n" if settings.beta_invite_required else ""
    member = ', "invite_code": "$INVITE_CODE"' if settings.beta_invite_required else ""
    return Step(
        "Register",
        "Put in your own name and address; those of the example are new each time, because no two accounts share them. "
        "The three recovery keys in the answer are shown this once.",
        f"""
NAME="Ada $(od -An -N4 -tx4 /dev/urandom | tr -d ' ')"
EMAIL="$(echo "$NAME" | tr 'A ' 'a-')@example.org"
{invitation}PASSWORD="Aa1-$(head -c 12 /dev/urandom | od -An -tx1 | tr -d ' \\n')"
echo "Your password: $PASSWORD"
curl -sSw '\\n' "$REGISTRY/auth/register" -H 'Content-Type: application/json' -d @- <<END
{{
  "name": "$NAME", "email": "$EMAIL", "password": "$PASSWORD",
  "tos_accepted": true, "age_confirmed": true{member}
}}
END
""",
    )


def _bootstrap() -> str:
    return """
curl -sSw '\\n' "$REGISTRY/onboard/bootstrap/request-token" \\
  -H "Authorization: Bearer $DEVELOPER_TOKEN" \\
  -H 'Content-Type: application/json' -d '{}' | tee bootstrap.json
BOOTSTRAP_TOKEN=$(field bootstrap_token < bootstrap.json)
"""


def _grant(settings: Settings) -> str:
    if settings.genesis_grant_enabled:
        unit = settings.settlement_currency
        return f"A developer's first agent is given {settings.genesis_grant_amount} {unit}."
    return "This registry gives a new agent nothing: until someone pays it, its transfers are refused."


def _creation(settings: Settings, file: str, name: str, description: str, skill: str) -> str:
    return f"""
curl -sSw '\\n' "$REGISTRY/onboard/create_agent" \\
  -H "Bootstrap-Token: $BOOTSTRAP_TOKEN" \\
  -H 'Content-Type: application/json' -d @- <<'END' | tee {file}.json
{{
  "agent_did_method": "{settings.did_method}",
  "agent_card": {{
    "name": "{name}",
    "description": "{description}",
    "version": "1.0.0",
    "supportedInterfaces": [
      {{"url": "https://agent.example.org/{skill}", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}}
    ],
    "capabilities": {{"streaming": false}},
    "defaultInputModes": ["text/plain"],
    "defaultOutputModes": ["text/plain"],
    "skills": [
      {{"id": "{skill}", "name": "{name}", "description": "{description}", "tags": ["{skill}"]}}
    ]
  }}
}}
END
"""


def _agent_token(agent: str) -> str:
    return f"""
curl -sSw '\\n' "$REGISTRY/auth/agent/token" \\
  --data-urlencode "username=$(field client_id < {agent}.json)" \\
  --data-urlencode "password=$(field client_secret < {agent}.json)" | tee {agent}-token.json
{agent.upper()}_TOKEN=$(field access_token < {agent}-token.json)
"""
