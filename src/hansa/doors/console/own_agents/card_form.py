"""A card as a form: the members that most agents need. Everything else is written in the card's JSON."""

from typing import Annotated, Any

from pydantic import Field

from hansa.foundation.values.lazy_model import LazyModel
from hansa.rooms import catalogue

Text = Annotated[str, Field(min_length=1, max_length=2048)]
Name = Annotated[str, Field(min_length=1, max_length=128)]
SKILL_ID = "main"


class CardFields(LazyModel):
    """The fields of a simple card. `tags` are separated by commas, the price is per call; empty: free."""

    name: Name
    description: Annotated[str, Field(min_length=1, max_length=8192)]
    url: Text
    version: Name
    skill_name: Name
    skill_description: Text
    tags: Annotated[str, Field(max_length=2048)] = ""
    price: Annotated[str, Field(max_length=64)] = ""

    def card(self) -> dict[str, Any]:
        """The A2A 1.0 card of these fields."""
        tags = [tag for tag in (tag.strip() for tag in self.tags.split(",")) if tag]
        skill = {"id": SKILL_ID, "name": self.skill_name, "description": self.skill_description}
        interface = {"url": self.url, "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}
        price = {"pricing": {"model": "per_request", "base_rate": self.price}} if self.price else {}
        return {
            "name": self.name,
            "description": self.description,
            "version": self.version,
            "supportedInterfaces": [interface],
            "capabilities": {},
            "defaultInputModes": ["text/plain"],
            "defaultOutputModes": ["text/plain"],
            "skills": [{**skill, "tags": tags} if tags else skill],
            **price,
        }


def template_fields() -> dict[str, str]:
    """Return the suggestions of the form: the words of the template."""
    card = catalogue.card_template()
    return {"url": card["supportedInterfaces"][0]["url"], "version": card["version"]}
