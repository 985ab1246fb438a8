"""Place of the signer of an invitation or acceptance in relation to this registry, and the rules of joining inside one frame.

- A frame invites an operator by its name; the operator joins its frame first, and gets its certificates by that.
- Operators of one frame invite each other as registries of different trust domains do.
- No other registry of the own trust domain is a peer.
"""

from hansa.foundation.plumbing.settings import Settings

from .documents import Document
from .errors import InvitationRefused
from .store import Invitation
from .verifying import Place


def place_of_inviter(settings: Settings, document: Document) -> Place:
    """Return the place of the registry that invites. Raises: InvitationRefused."""
    party, operator = document.party, document.operator
    if operator is not None and (
        not settings.is_operator
        or (party.trust_domain, operator) != (settings.trust_domain, settings.registry_name)
    ):
        raise InvitationRefused(
            f"The invitation is for the operator registry {operator} of {party.trust_domain}: REGISTRY_TIER, REGISTRY_NAME"
            " and TRUST_DOMAIN of this registry make it another one.",
            field="invitation",
        )
    if operator is not None:
        return "frame"
    if party.trust_domain != settings.trust_domain:
        return "elsewhere"
    if party.registry_name == settings.registry_name:
        raise InvitationRefused(
            "This registry made the invitation itself; accept it at the registry that is invited.",
            field="invitation",
        )
    _require_other_operator(settings)
    return "operator"


def place_of_acceptor(settings: Settings, document: Document, invitation: Invitation) -> Place:
    """Return the place of the registry that accepts. Raises: InvitationRefused."""
    party, operator = document.party, invitation.operator
    if operator is not None:
        if (party.trust_domain, party.registry_name) != (settings.trust_domain, operator):
            raise InvitationRefused(
                f"The invitation is for the operator registry {operator} of this trust domain, and {party.registry_name} of"
                f" {party.trust_domain} accepts it.",
                field="acceptance",
            )
        return "operator"
    if document.csrs:
        raise InvitationRefused(
            "The acceptance has csrs, and the invitation is for no operator registry.", field="acceptance"
        )
    if party.trust_domain != settings.trust_domain:
        return "elsewhere"
    _require_other_operator(settings)
    if party.registry_name == settings.registry_name:
        raise InvitationRefused("The document is of this registry itself; expected another operator.")
    return "operator"


def _require_other_operator(settings: Settings) -> None:
    if not settings.is_operator:
        raise InvitationRefused(
            "The document is of this registry's own trust domain, whose registries join by an invitation of the frame for an"
            " operator."
        )
