"""The editor of the card of an own agent, and the check that the card was not changed meanwhile."""

from hansa.doors.console.access import SignedIn
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.web.entity_tags import PreconditionFailed
from hansa.rooms import catalogue

CHANGED = "The card was changed after you opened it: open the page again to see the change."


def editor_of(person: SignedIn, did: str, settings: Settings, opened: str | None = None) -> catalogue.Editor:
    """The person as an editor of the agent's card; `opened` is the state of the card that the person has seen."""

    def require_unchanged(card: catalogue.Card) -> None:
        if opened is not None and card.state != opened:
            raise PreconditionFailed(CHANGED)

    policy = catalogue.SignaturePolicy.of(settings)
    return catalogue.Editor(person.developer.id, did, require_unchanged, policy)
