"""The generated client at work: a developer registers, logs in and creates agents; one pays another, one is ended.

Runs beside the generated package `hansa_api`, in the environment of the generator: `python use_client.py ADDRESS`.
"""

import sys

from hansa_api import AuthenticatedClient, Client
from hansa_api.api.accounts import log_in, own_profile, register_developer
from hansa_api.api.agents import end_myself, issue_agent_token, onboard_agent, request_bootstrap_token
from hansa_api.api.ledger import read_balance
from hansa_api.api.status import read_health
from hansa_api.api.transfers import transfer_units
from hansa_api.models import (
    AgentRevokedOut,
    AgentTokenForm,
    BootstrapRequest,
    CreateAgentIn,
    CreateAgentInAgentCardType0,
    LoginForm,
    RegistrationIn,
    TransferIn,
)

PASSWORD = "Correct-Horse-7-Battery"
EMAIL = "client@example.org"


def main(address: str) -> None:
    """Walk the whole path. Every answer is of the declared model, with the declared status."""
    anyone = Client(base_url=address, raise_on_unexpected_status=True)
    assert read_health.sync(client=anyone).status == "ok"
    newcomer = RegistrationIn(
        name="Client", email=EMAIL, password=PASSWORD, age_confirmed=True, tos_accepted=True
    )
    assert len(register_developer.sync(client=anyone, body=newcomer).recovery_keys) == 3
    session = log_in.sync(client=anyone, body=LoginForm(username=EMAIL, password=PASSWORD))
    developer = AuthenticatedClient(address, session.access_token, raise_on_unexpected_status=True)
    assert own_profile.sync(client=developer).email == EMAIL

    payer, _ = agent_of(developer, anyone, "Payer")
    _, payee = agent_of(developer, anyone, "Payee")
    paid = transfer_units.sync(client=payer, body=TransferIn(receiver_agent_id=payee, amount="1.5"))
    assert paid.status == "completed", paid
    assert read_balance.sync(client=payer).balance == paid.new_sender_balance
    ended = end_myself.sync_detailed(client=agent_of(developer, anyone, "Brief")[0])
    assert (ended.status_code, type(ended.parsed)) == (200, AgentRevokedOut), ended


def agent_of(developer: AuthenticatedClient, anyone: Client, name: str) -> tuple[AuthenticatedClient, str]:
    """A client of a new agent, and its DID."""
    token = request_bootstrap_token.sync(client=developer, body=BootstrapRequest()).bootstrap_token
    card = CreateAgentInAgentCardType0.from_dict(
        {
            "name": name,
            "description": f"{name}, made by a generated client.",
            "version": "1.0.0",
            "supportedInterfaces": [
                {"url": "https://agent.example.org", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}
            ],
            "capabilities": {},
            "defaultInputModes": ["text/plain"],
            "defaultOutputModes": ["text/plain"],
            "skills": [{"id": "main", "name": name, "description": name, "tags": ["client"]}],
        }
    )
    bootstrap = AuthenticatedClient(
        anyone._base_url,
        token,
        prefix="",
        auth_header_name="Bootstrap-Token",
        raise_on_unexpected_status=True,
    )
    made = onboard_agent.sync(client=bootstrap, body=CreateAgentIn(agent_did_method="hansa", agent_card=card))
    form = AgentTokenForm(username=made.client_id, password=made.client_secret)
    issued = issue_agent_token.sync(client=anyone, body=form)
    client = AuthenticatedClient(anyone._base_url, issued.access_token, raise_on_unexpected_status=True)
    return client, made.agent_did


if __name__ == "__main__":
    main(sys.argv[1])
