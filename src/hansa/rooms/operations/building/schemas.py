"""Shape of a request for a project."""

from typing import Annotated, Literal

from pydantic import AfterValidator, ConfigDict, Field

from hansa.foundation.values.did import DID_MAX_CHARACTERS
from hansa.foundation.values.money import PositiveAmount
from hansa.foundation.values.request_body import RequestBody
from hansa.foundation.values.secret_forms import without_secrets
from hansa.foundation.values.visible_text import plain, plain_and_visible
from hansa.foundation.values.web_address import URL_MAX_CHARACTERS, read_web_address
from hansa.rooms import catalogue

NAME_MIN, NAME_MAX = 3, 100
DESCRIPTION_MAX = 500
INSTRUCTION_MAX = 4000
HUMAN_READABLE_ID_MAX = 129
MODEL_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9._:/@-]{0,127}$"
TIMEOUT_SECONDS_MAX = 60

BuilderType = Literal["simple_wrapper", "adk_agent", "paid_function", "mcp_server"]
REDACTED = "A text with the form of a secret is replaced."


def _name(text: str) -> str:
    stored = plain_and_visible(text)
    if len(stored) < NAME_MIN:
        raise ValueError(f"must have at least {NAME_MIN} characters without the blanks around it")
    # A cut before the search would break the form by which a secret is found.
    return without_secrets(stored)[:NAME_MAX]


def _description(text: str) -> str:
    return without_secrets(plain_and_visible(text))[:DESCRIPTION_MAX]


def _instruction(text: str) -> str:
    return without_secrets(plain_and_visible(text))[:INSTRUCTION_MAX]


def _without_secret(text: str) -> str:
    if without_secrets(text) != text:
        raise ValueError("has the form of a secret; credentials come from the environment of the agent")
    return text


def _address(text: str) -> str:
    if plain(text) != text or read_web_address(text) is None:
        raise ValueError("must be an http or https address without credentials and fragment")
    return _without_secret(text)


def _handle(text: str) -> str:
    if not catalogue.is_human_readable_id(text):
        raise ValueError(
            "must be org/name: lower-case letters, digits, and `.`, `_`, `-` inside, 64 each; some organizations are reserved"
        )
    return _without_secret(text)


class AgentProjectIn(RequestBody):
    """Project of an agent. Texts of the request come to stand in `agent.json` and in the card alone."""

    model_config = ConfigDict(extra="forbid")

    agent_name: Annotated[
        str,
        Field(min_length=NAME_MIN, max_length=NAME_MAX, description=REDACTED, examples=["Word counter"]),
        AfterValidator(_name),
    ]
    agent_description: Annotated[
        str,
        Field(
            min_length=1,
            max_length=DESCRIPTION_MAX,
            description=REDACTED,
            examples=["Counts the words of a text."],
        ),
        AfterValidator(_description),
    ]
    human_readable_id: (
        Annotated[
            str,
            Field(max_length=HUMAN_READABLE_ID_MAX, examples=["workshop/painter"]),
            AfterValidator(_handle),
        ]
        | None
    ) = None
    agent_builder_type: BuilderType
    wrapper_url: Annotated[str, Field(max_length=URL_MAX_CHARACTERS), AfterValidator(_address)] | None = (
        Field(
            default=None,
            description="simple_wrapper, required: address of your service, which gets each message as JSON. The registry never calls it.",
            examples=["https://translator.example.com/translate"],
        )
    )
    wrapper_timeout_seconds: Annotated[int, Field(strict=True, ge=1, le=TIMEOUT_SECONDS_MAX)] | None = Field(
        default=None, description="simple_wrapper: maximum duration of one answer; by default 30."
    )
    adk_model: Annotated[str, Field(pattern=MODEL_PATTERN), AfterValidator(_without_secret)] | None = Field(
        default=None,
        description="adk_agent, required: name of the model for the Agent Development Kit.",
        examples=["gemini-2.5-flash"],
    )
    adk_instruction: (
        Annotated[str, Field(min_length=1, max_length=INSTRUCTION_MAX), AfterValidator(_instruction)] | None
    ) = Field(default=None, description=f"adk_agent, required: instruction of the model. {REDACTED}")
    price: PositiveAmount | None = Field(
        default=None, description="Price of a call; without it calls are free. paid_function: required."
    )
    agent_did: Annotated[str, Field(min_length=1, max_length=DID_MAX_CHARACTERS)] | None = Field(
        default=None, description="An agent that you operate, for which the project is."
    )
