"""Two formats of a card: the members that an A2A 1.0 client reads to call the agent, and those that a client of an older form reads.

The half that the owner wrote stands; the other is derived from it. Members that neither knows stay untouched.
"""

from typing import Any

from .auth_schemes import auth_schemes_of, security_of
from .completion import FLAGS

BINDING_DEFAULT = "JSONRPC"
OLD_VERSION = "0.3.0"
CALLABLE = frozenset({"supportedInterfaces", "version", "capabilities", "skills"})

# A security scheme is named by its type in 0.3 and by a wrapping member in 1.0.
WRAPPERS = {
    "apiKey": "apiKeySecurityScheme",
    "http": "httpAuthSecurityScheme",
    "oauth2": "oauth2SecurityScheme",
    "openIdConnect": "openIdConnectSecurityScheme",
    "mutualTLS": "mtlsSecurityScheme",
}


def with_interfaces(card: dict[str, Any]) -> dict[str, Any]:
    """The card with `supportedInterfaces`, taken from the 0.3 members or the A2A endpoint where it has none."""
    if card.get("supportedInterfaces"):
        return card
    endpoints = card.get("endpoints")
    url = card.get("url") or (endpoints.get("a2a") if isinstance(endpoints, dict) else None)
    if "supportedInterfaces" in card or not isinstance(url, str) or not url:
        return card
    version = card.get("protocolVersion", OLD_VERSION)
    interfaces = [_interface(url, card.get("preferredTransport", BINDING_DEFAULT), version)]
    additional = card.get("additionalInterfaces")
    for other in additional if isinstance(additional, list) else []:
        if isinstance(other, dict):
            interface = _interface(other.get("url"), other.get("transport"), version)
            if interface not in interfaces:
                interfaces.append(interface)
    return {**card, "supportedInterfaces": interfaces}


def with_both_formats(card: dict[str, Any]) -> dict[str, Any]:
    """A valid card that both kinds of client can call."""
    return _with_old_members(with_both_securities(_with_old_connection(_with_both_flags(card))))


def _with_both_flags(card: dict[str, Any]) -> dict[str, Any]:
    """Copy each ability flag that one half of the card sets to the other half; absent is the same as false."""
    completed = {**card, "capabilities": dict(card["capabilities"])}
    for old, new in FLAGS:
        for source, target in ((old, new), (new, old)):
            if _holder(completed, source).get(source[-1]) is True:
                _holder(completed, target)[target[-1]] = True
    return completed


def _holder(card: dict[str, Any], path: tuple[str, ...]) -> dict[str, Any]:
    holder: dict[str, Any] = card[path[0]] if len(path) > 1 else card
    return holder


def _with_old_members(card: dict[str, Any]) -> dict[str, Any]:
    """Add the members that the oldest clients require to read a card at all."""
    completed = {"agentVersion": card["version"], **card}
    if card.get("authSchemes") is None:
        completed["authSchemes"] = auth_schemes_of(card)
    provider = card.get("provider")
    if isinstance(provider, dict) and provider.get("name") is None:
        completed["provider"] = {**provider, "name": provider["organization"]}
    return completed


def readable_by_both(document: dict[str, Any]) -> dict[str, Any]:
    """A stored document in both formats; one that is stored with them, or is a stub, stays as it is."""
    is_whole = "agentVersion" in document and "authSchemes" in document
    return document if is_whole or not document.keys() >= CALLABLE else with_both_formats(document)


def main_interface(interfaces: list[dict[str, Any]]) -> dict[str, Any]:
    """The interface that a 0.3 client calls: the first of an older version, else the first."""
    return next((one for one in interfaces if one["protocolVersion"].startswith("0.")), interfaces[0])


def _interface(url: Any, binding: Any, version: Any) -> dict[str, Any]:
    return {"url": url, "protocolBinding": binding, "protocolVersion": version}


def _with_old_connection(card: dict[str, Any]) -> dict[str, Any]:
    interfaces = card["supportedInterfaces"]
    if "url" in card:
        return {"preferredTransport": BINDING_DEFAULT, "protocolVersion": OLD_VERSION, **card}
    main = main_interface(interfaces)
    others = [
        {"url": one["url"], "transport": one["protocolBinding"]} for one in interfaces if one is not main
    ]
    return {
        **card,
        "url": main["url"],
        "preferredTransport": main["protocolBinding"],
        "protocolVersion": main["protocolVersion"],
        **({"additionalInterfaces": others} if others else {}),
    }


def with_both_securities(card: dict[str, Any]) -> dict[str, Any]:
    """The card with its security schemes and requirements in both forms, taken from `authSchemes` where it has none."""
    if not any(card.get(member) for member in ("securitySchemes", "security", "securityRequirements")):
        declared = security_of(card.get("authSchemes"))
        if declared is not None:
            card = {**card, "securitySchemes": declared.schemes, "security": declared.requirements}
            card.pop("securityRequirements", None)
    completed = with_both_requirements(card)
    if schemes := completed.get("securitySchemes"):
        completed["securitySchemes"] = {name: scheme_in_both_forms(one) for name, one in schemes.items()}
    completed["skills"] = [with_both_requirements(skill) for skill in completed["skills"]]
    return completed


def scheme_in_both_forms(scheme: dict[str, Any]) -> dict[str, Any]:
    """A security scheme with its type, as in 0.3, and its wrapping member, as in 1.0."""
    kind = scheme.get("type")
    if kind in WRAPPERS and WRAPPERS[kind] not in scheme:
        inner = {
            ("location" if name == "in" else name): value for name, value in scheme.items() if name != "type"
        }
        return {**scheme, WRAPPERS[kind]: inner}
    for old_kind, wrapper in WRAPPERS.items():
        if "type" not in scheme and wrapper in scheme:
            inner = scheme[wrapper] or {}
            return {
                **scheme,
                "type": old_kind,
                **{("in" if name == "location" else name): value for name, value in inner.items()},
            }
    return scheme


def with_both_requirements(holder: dict[str, Any]) -> dict[str, Any]:
    """A card or a skill with its requirements in both forms."""
    old, new = holder.get("security"), holder.get("securityRequirements")
    if old is not None and new is None:
        requirements = [{"schemes": {name: {"list": scopes} for name, scopes in one.items()}} for one in old]
        return {**holder, "securityRequirements": requirements}
    if new is not None and old is None:
        security = [
            {name: scopes.get("list") or [] for name, scopes in (one.get("schemes") or {}).items()}
            for one in new
        ]
        return {**holder, "security": security}
    return dict(holder)
