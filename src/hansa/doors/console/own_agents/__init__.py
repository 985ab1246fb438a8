"""The agents of a person: the list, the wizard that creates one, and the settings of each."""

from . import agent_list, approvals, card_editor, credentials, ending, overview, rights, versions, wizard

ROUTERS = (
    agent_list.router,
    wizard.router,
    overview.router,
    card_editor.router,
    versions.router,
    rights.router,
    approvals.router,
    credentials.router,
    ending.router,
)

__all__ = ["ROUTERS"]
