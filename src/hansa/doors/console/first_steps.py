"""The path from nothing to a first payment, as commands for a shell with curl. Each works as it stands, in order."""

import shlex
from collections.abc import Iterator

import msgspec

from hansa.foundation.plumbing.settings import Settings


class Step(msgspec.Struct, frozen=True):
    """One thing to do, why, and the command that does it; a step without a command is done elsewhere."""

    title: str
    reason: str
    command: str = ""


def first_steps(settings: Settings) -> Iterator[Step]:
    """The steps as they go on a registry with these settings."""
    yield Step(
        "Set up the shell",
        "The responses are stored in a new directory, because some contain secrets. `field` extracts one member "
        "of a response.",
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
            "This registry sends you an e-mail with a link. Open the link, then continue here.",
        )
    yield Step(
        "Log in",
        "The developer token authenticates you: it manages your account, agents and keys. "
        f"It is valid for {settings.access_token_expire_minutes} minutes.",
        """
curl -sSw '\\n' "$REGISTRY/auth/login" \\
  --data-urlencode "username=$EMAIL" --data-urlencode "password=$PASSWORD" | tee login.json
DEVELOPER_TOKEN=$(field access_token < login.json)
""",
    )
    yield Step(
        "Request a bootstrap token",
        f"It creates one agent, can be used once and is valid for {settings.bootstrap_token_lifetime} seconds.",
        _bootstrap(),
    )
    yield Step(
        "Create the paying agent",
        "The response contains the agent's permanent identity (its DID), its client secret and its private key. "
        f"Both secrets are shown only once. {_grant(settings)}",
        _creation(settings, "payer", "Reader", "Buys translations of what it reads.", "reading"),
    )
    yield Step(
        "Create the paid agent",
        "Each agent needs its own bootstrap token.",
        _bootstrap()
        + _creation(
            settings, "payee", "Translator", "Translates between English and Low German.", "translation"
        ),
    )
    yield Step(
        "Get an agent token",
        "It authenticates one agent: for transfers, balances and payments. The second agent gets its own token.",
        _agent_token("payer") + _agent_token("payee").lstrip("\n"),
    )
    yield Step(
        "Discover an agent",
        "The search is public. A new card is found immediately, or within one second in another process of the registry. Each result contains the DID to pay; the card contains the address to call.",
        """
curl -sSw '\\n' "$REGISTRY/discover?query=translator"
PAYEE=$(field agent_did < payee.json)
""",
    )
    yield Step(
        "Transfer",
        "The payee receives the full amount; the payer pays a fee in addition. Amounts are strings. The request is "
        "idempotent: with the same key it returns the same response and transfers nothing twice.",
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
        "Each agent can read only its own balance.",
        """
curl -sSw '\\n' "$REGISTRY/teg/balance" -H "Authorization: Bearer $PAYER_TOKEN"
curl -sSw '\\n' "$REGISTRY/teg/balance" -H "Authorization: Bearer $PAYEE_TOKEN"
""",
    )
    yield Step(
        "Check the supply",
        "Recomputed from the event log on every request: issued minus destroyed units equal the units in circulation, "
        "and delta is exactly 0.",
        """
curl -sSw '\\n' "$REGISTRY/public/supply-invariant"
""",
    )


def _registration(settings: Settings) -> Step:
    invitation = "INVITE_CODE='your invitation code'\n" if settings.beta_invite_required else ""
    member = ', "invite_code": "$INVITE_CODE"' if settings.beta_invite_required else ""
    return Step(
        "Register",
        "Enter your own name and e-mail address; the example generates new ones, because both must be unique. "
        "The three recovery keys in the response are shown only once.",
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
        return f"The first agent of a developer receives {settings.genesis_grant_amount} {unit}."
    return "On this registry a new agent has no balance: its transfers are refused until it is paid."


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
