"""Form of an agent card: A2A 1.0 or 0.3, judged by the official A2A types, completed so that both can call it.

- Members that the platform owns are dropped from an owner's card; members that A2A does not know are kept.
- Texts are NFC. Members that the older form does not know are completed (`completion`); any other required member that is
  missing or empty is refused.
"""

import copy
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from typing import Any, cast

import msgspec
from a2a.types import AgentCard
from a2a.utils.errors import InvalidParamsError
from a2a.utils.proto_utils import validate_proto_required_fields
from google.protobuf.descriptor import Descriptor
from google.protobuf.json_format import ParseError

from . import human_readable_id, limits
from .card_formats import with_both_formats, with_interfaces
from .completion import completed, contradictions
from .errors import CardInvalid
from .limits import Trouble
from .payment import is_derived, pricing_troubles
from .shape import missing_troubles, shape_troubles, wire_name
from .template import without_examples

PLATFORM_MEMBERS = frozenset(
    {
        "status",
        "did",
        "federation_metadata",
        "federationMetadata",
        "flare",
        "imported_from",
        "mcp_server",
        "signatures",
        "enforcement",
        "reputation",
        "reputation_bond",
        "reputationBond",
        "track_record",
        "trackRecord",
    }
)
# What this registry alone says of a card, mirrored or not.
RECEIVERS_MEMBERS = frozenset({"status", "did", "federation_metadata", "federationMetadata"})
PLATFORM_EXTENSIONS = frozenset({"enforcement", "reputation/bond", "reputation-bond", "track-record"})
CARD_MESSAGE = cast("Descriptor", AgentCard.DESCRIPTOR)
TROUBLES_MAX = 50


class CheckedCard(msgspec.Struct, frozen=True):
    """Card as it would be stored, or its troubles."""

    card: dict[str, Any] | None
    troubles: tuple[Trouble, ...]
    completions: tuple[Trouble, ...] = ()
    """What the card lacked and was completed with; only of a card that is taken."""


def check_card(card_data: Any) -> CheckedCard:
    """Judge an owner's card; every problem is named, up to a limit."""
    checked = _check(card_data, _owned_part, pricing_troubles)
    if checked.card is not None and (troubles := tuple(limits.whole_size_troubles(checked.card))):
        return CheckedCard(None, troubles)
    return checked


def check_peer_card(card_data: Any) -> CheckedCard:
    """Judge a card that a peer registry states: the platform's members in it are the peer's, and stay."""
    return _check(card_data, peers_part, lambda _: ())


def peers_part(card: dict[str, Any]) -> dict[str, Any]:
    """Return a peer's card without nulls at the top and without the members that this registry alone states."""
    return {
        name: value for name, value in card.items() if value is not None and name not in RECEIVERS_MEMBERS
    }


def _check(
    card_data: Any,
    part: Callable[[dict[str, Any]], dict[str, Any]],
    more_troubles: Callable[[dict[str, Any]], Iterable[Trouble]],
) -> CheckedCard:
    if not isinstance(card_data, dict):
        return CheckedCard(None, (Trouble(limits.ROOT, "An agent card is a JSON object."),))
    if troubles := tuple(limits.size_troubles(card_data)):
        return CheckedCard(None, troubles)
    card, completions = completed(with_interfaces(part(_normalised(card_data))))
    troubles = (
        *limits.count_troubles(card),
        *limits.text_troubles(card),
        *_name_troubles(card),
        *contradictions(card),
        *more_troubles(card),
        *_form_troubles(card),
    )
    if troubles:
        return CheckedCard(None, _one_of_each_member(troubles))
    complete = with_both_formats(card)
    # What is returned must be readable again, so the derived half is judged as well.
    troubles = tuple(_protocol_troubles(complete))
    return CheckedCard(None, troubles) if troubles else CheckedCard(complete, (), completions)


def require_card(card_data: Any) -> dict[str, Any]:
    """The card as it is stored. Raises: CardInvalid, which names the first trouble."""
    checked = check_card(card_data)
    if checked.card is None:
        first = checked.troubles[0]
        raise CardInvalid(sentence_of(first), field=first.field[: limits.MEMBER_NAME_MAX])
    return checked.card


def sentence_of(error: Trouble) -> str:
    """The error as one line."""
    return f"{error.field[: limits.MEMBER_NAME_MAX]}: {error.message}"


def is_platform_extension(extension: Any) -> bool:
    """Return whether the extension is one that the platform alone writes."""
    uri = extension.get("uri") if isinstance(extension, dict) else None
    parts = uri.rstrip("/").lower().replace("_", "-").split("/") if isinstance(uri, str) else []
    return not PLATFORM_EXTENSIONS.isdisjoint({"/".join(parts[-1:]), "/".join(parts[-2:])})


def _name_troubles(card: dict[str, Any]) -> Iterator[Trouble]:
    hri = card.get("humanReadableId")
    if hri is not None and not human_readable_id.is_well_formed(hri):
        yield Trouble(
            "$.humanReadableId",
            "A humanReadableId is `org/name` in lower-case letters, digits, `.`, `_`, `-`, and its organization"
            " does not speak for a registry.",
        )


def _form_troubles(card: dict[str, Any]) -> Iterator[Trouble]:
    """Yield the deviations from the A2A form. Where the official types would give up, the other missing members are looked for here."""
    troubles = tuple(shape_troubles(card, CARD_MESSAGE))
    yield from troubles
    yield from missing_troubles(card, CARD_MESSAGE) if troubles else _protocol_troubles(card)


def _one_of_each_member(troubles: Iterable[Trouble]) -> tuple[Trouble, ...]:
    first = {error.field: error for error in reversed(tuple(troubles))}
    return tuple(reversed(first.values()))[:TROUBLES_MAX]


def _protocol_troubles(card: dict[str, Any]) -> Iterator[Trouble]:
    """Yield the troubles that the official types find. Members that they do not know are none of their business."""
    # Its client is a tenth of a start, and most starts of the command check no card.
    from a2a.client.card_resolver import parse_agent_card

    try:
        validate_proto_required_fields(parse_agent_card(copy.deepcopy(card)))
    except InvalidParamsError as failure:
        missing = tuple(missing_troubles(card, CARD_MESSAGE))
        yield from missing
        for error in () if missing else (failure.data or {}).get("errors", []):
            yield Trouble(wire_name(error["field"]), error["message"])
    # The official parser lets some shapes it does not expect escape as plain Python errors.
    except (ParseError, AttributeError, TypeError, ValueError, KeyError) as failure:
        yield Trouble(limits.ROOT, f"The card is not of the A2A form: {str(failure).rstrip('.')[:300]}.")


def _normalised(value: Any) -> Any:
    if isinstance(value, str):
        return unicodedata.normalize("NFC", value)
    if isinstance(value, dict):
        return {unicodedata.normalize("NFC", name): _normalised(member) for name, member in value.items()}
    return [_normalised(item) for item in value] if isinstance(value, list) else value


def _owned_part(card: dict[str, Any]) -> dict[str, Any]:
    """Return the card without nulls at the top and without the members that the platform alone states."""
    owned = {
        name: value
        for name, value in without_examples(card).items()
        if value is not None and name not in PLATFORM_MEMBERS
    }
    for holder in (owned, owned.get("capabilities")):
        if isinstance(holder, dict) and isinstance(holder.get("extensions"), list):
            _drop_what_the_registry_said(holder)
    return owned


def _drop_what_the_registry_said(holder: dict[str, Any]) -> None:
    written = holder["extensions"]
    owned = [item for item in written if not (is_platform_extension(item) or is_derived(item))]
    if owned or not written:
        holder["extensions"] = owned
    else:
        # A card without extensions, read here and written back, has none.
        del holder["extensions"]
