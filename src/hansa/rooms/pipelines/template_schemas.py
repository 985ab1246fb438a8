"""Shapes of templates."""

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field

from hansa.foundation.values.did import DID_MAX_CHARACTERS
from hansa.foundation.values.lazy_model import LazyModel
from hansa.foundation.values.request_body import RequestBody

from .templates import AGENTS_MAX, Template


class TemplateParameterOut(LazyModel):
    """Parameter of a template: the DID of an agent, a list of them, or an amount as a decimal string."""

    name: str
    kind: Literal["agent", "agents", "amount"]
    title: str
    min_items: int | None
    max_items: int | None


class PipelineTemplateOut(LazyModel):
    """A template of pipelines. `input` is an example of the input that its runs take."""

    id: str
    title: str
    description: str
    parameters: list[TemplateParameterOut]
    input: dict[str, str]

    @classmethod
    def of(cls, template: Template) -> "PipelineTemplateOut":
        """The shape of a template."""
        return cls(
            id=template.id,
            title=template.title,
            description=template.description,
            parameters=[
                TemplateParameterOut(
                    name=one.name,
                    kind=one.kind,
                    title=one.title,
                    min_items=one.least if one.kind == "agents" else None,
                    max_items=AGENTS_MAX if one.kind == "agents" else None,
                )
                for one in template.parameters
            ],
            input=dict(template.input),
        )


class PipelineTemplatesOut(LazyModel):
    """The templates of pipelines."""

    items: list[PipelineTemplateOut]
    next: None = Field(default=None, description="Always null: the list is whole.")


class TemplateUseIn(RequestBody):
    """A pipeline that is made from a template."""

    model_config = ConfigDict(extra="forbid")

    agent_did: Annotated[str, Field(min_length=1, max_length=DID_MAX_CHARACTERS)] = Field(
        description="Own agent that gets the pipeline."
    )
    parameters: dict[str, Any] = Field(description="Values by the names of the template's parameters.")
