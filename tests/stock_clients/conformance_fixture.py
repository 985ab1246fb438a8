"""Tools that the conformance suite of the Model Context Protocol calls by name, served by the door in place of its own.

The answers are those that the suite asks for. Rounds of questions are those of revision 2026-07-28: a call that lacks an answer is
asked again. The state of a round bears a signature.
"""

import hmac
from collections.abc import Callable, Mapping
from typing import Any

from mcp.server.caching import CacheHint
from mcp.server.lowlevel.server import Server
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    MISSING_REQUIRED_CLIENT_CAPABILITY,
    AudioContent,
    CallToolRequestParams,
    CallToolResult,
    ClientCapabilities,
    ContentBlock,
    CreateMessageRequest,
    CreateMessageRequestParams,
    CreateMessageResult,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitResult,
    EmbeddedResource,
    ImageContent,
    InputRequest,
    InputRequiredResult,
    ListRootsRequest,
    ListRootsResult,
    ListToolsResult,
    PaginatedRequestParams,
    SamplingMessage,
    TextContent,
    TextResourceContents,
    Tool,
)

from hansa.doors.mcp.protocol import LIST_FRESH_MS, Context

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
SILENCE = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAAAAA=="
STATE_KEY = b"state of the conformance fixture"

Answer = CallToolResult | InputRequiredResult
Schema = dict[str, Any]


def text(said: str, *, is_error: bool = False) -> CallToolResult:
    return CallToolResult(content=[TextContent(type="text", text=said)], is_error=is_error)


def resource(uri: str, mime_type: str, content: str) -> EmbeddedResource:
    held = TextResourceContents(uri=uri, mime_type=mime_type, text=content)
    return EmbeddedResource(type="resource", resource=held)


def image() -> ImageContent:
    return ImageContent(type="image", data=PIXEL, mime_type="image/png")


CONTENT: Mapping[str, list[ContentBlock]] = {
    "test_simple_text": [TextContent(type="text", text="This is a simple text response for testing.")],
    "test_image_content": [image()],
    "test_audio_content": [AudioContent(type="audio", data=SILENCE, mime_type="audio/wav")],
    "test_embedded_resource": [
        resource("test://embedded-resource", "text/plain", "This is an embedded resource content.")
    ],
    "test_multiple_content_types": [
        TextContent(type="text", text="Multiple content types test:"),
        image(),
        resource("test://mixed-content-resource", "application/json", '{"test":"data","value":123}'),
    ],
    "json_schema_2020_12_tool": [TextContent(type="text", text="read")],
    "test_headers": [TextContent(type="text", text="read")],
    "test_logging_tool": [TextContent(type="text", text="Nothing is logged to a client.")],
}


def question(message: str, member: str, kind: str) -> ElicitRequest:
    schema = {"type": "object", "properties": {member: {"type": kind}}, "required": [member]}
    return ElicitRequest(params=ElicitRequestFormParams(message=message, requested_schema=schema))


def sampled(said: str, most: int) -> CreateMessageRequest:
    message = SamplingMessage(role="user", content=TextContent(type="text", text=said))
    return CreateMessageRequest(params=CreateMessageRequestParams(messages=[message], max_tokens=most))


NAME = question("What is your name?", "name", "string")
CAPITAL = sampled("What is the capital of France?", 100)
EVERYTHING: Mapping[str, InputRequest] = {
    "user_name": NAME,
    "greeting": sampled("Generate a greeting", 50),
    "client_roots": ListRootsRequest(),
}


def signed(state: str) -> str:
    return f"{state}.{hmac.digest(STATE_KEY, state.encode(), 'sha256').hex()}"


def state_of(params: CallToolRequestParams) -> str | None:
    """The state of the round before. Raises: MCPError where it is not ours."""
    if params.request_state is None:
        return None
    state = params.request_state.partition(".")[0]
    if not hmac.compare_digest(signed(state).encode(), params.request_state.encode()):
        raise MCPError(INVALID_PARAMS, "The request state was not issued here.")
    return state


def answered(params: CallToolRequestParams, key: str) -> str | None:
    """What the person or the client answered to a question; None where it did not."""
    given = (params.input_responses or {}).get(key)
    if isinstance(given, ElicitResult) and given.action == "accept" and given.content:
        return str(next(iter(given.content.values())))
    if isinstance(given, CreateMessageResult) and isinstance(given.content, TextContent):
        return given.content.text
    if isinstance(given, ListRootsResult):
        return ", ".join(str(root.uri) for root in given.roots)
    return None


def asks(key: str, request: InputRequest, thanks: str) -> Callable[[CallToolRequestParams], Answer]:
    """A tool that asks one question."""

    def asked(params: CallToolRequestParams) -> Answer:
        found = answered(params, key)
        if found is None:
            return InputRequiredResult(input_requests={key: request})
        return text(thanks.format(found))

    return asked


def asks_with_state(params: CallToolRequestParams) -> Answer:
    if state_of(params) == "confirm" and answered(params, "confirm") is not None:
        return text("state-ok")
    asked = question("Please confirm", "ok", "boolean")
    return InputRequiredResult(input_requests={"confirm": asked}, request_state=signed("confirm"))


def asks_for_everything(params: CallToolRequestParams) -> Answer:
    found = [answered(params, key) for key in EVERYTHING]
    if state_of(params) == "everything" and None not in found:
        return text("; ".join(str(one) for one in found))
    return InputRequiredResult(input_requests=dict(EVERYTHING), request_state=signed("everything"))


def asks_in_rounds(params: CallToolRequestParams) -> Answer:
    state = state_of(params)
    if state == "2" and (colour := answered(params, "step2")) is not None:
        return text(f"Your colour is {colour}.")
    if state == "1" and answered(params, "step1") is not None:
        second = question("Step 2: What is your favorite color?", "color", "string")
        return InputRequiredResult(input_requests={"step2": second}, request_state=signed("2"))
    first = question("Step 1: What is your name?", "name", "string")
    return InputRequiredResult(input_requests={"step1": first}, request_state=signed("1"))


ASKING: Mapping[str, Callable[[CallToolRequestParams], Answer]] = {
    "test_input_required_result_elicitation": asks("user_name", NAME, "Hello, {}!"),
    "test_input_required_result_sampling": asks("capital_question", CAPITAL, "The answer: {}"),
    "test_input_required_result_list_roots": asks("client_roots", ListRootsRequest(), "The roots: {}"),
    "test_input_required_result_request_state": asks_with_state,
    "test_input_required_result_tampered_state": asks_with_state,
    "test_input_required_result_multiple_inputs": asks_for_everything,
    "test_input_required_result_multi_round": asks_in_rounds,
    "test_streaming_elicitation": asks("user_name", NAME, "Hello, {}!"),
}


def asks_what_the_client_can_answer(able: ClientCapabilities) -> Answer:
    possible = {"user_name": able.elicitation, "greeting": able.sampling, "client_roots": able.roots}
    asked = {key: EVERYTHING[key] for key, capability in possible.items() if capability is not None}
    return InputRequiredResult(input_requests=asked, request_state=signed("able"))


def needs_sampling(able: ClientCapabilities) -> Answer:
    """Raises: MCPError where the client cannot sample."""
    if able.sampling is None:
        raise MCPError(
            MISSING_REQUIRED_CLIENT_CAPABILITY,
            "This tool needs a client that samples.",
            {"requiredCapabilities": {"sampling": {}}},
        )
    return text("The client samples.")


BY_CAPABILITY: Mapping[str, Callable[[ClientCapabilities], Answer]] = {
    "test_input_required_result_capabilities": asks_what_the_client_can_answer,
    "test_missing_capability": needs_sampling,
}

FAILING = "test_error_handling"
NOTHING: Schema = {"type": "object", "properties": {}, "additionalProperties": False}
SCHEMAS: Mapping[str, Schema] = {
    "json_schema_2020_12_tool": {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {
            "address": {
                "$anchor": "addressDef",
                "type": "object",
                "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
            }
        },
        "properties": {
            "name": {"type": "string"},
            "address": {"$ref": "#/$defs/address"},
            "contactMethod": {"type": "string", "enum": ["phone", "email"]},
            "phone": {"type": "string"},
            "email": {"type": "string"},
        },
        "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
        "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
        "then": {"required": ["phone"]},
        "else": {"required": ["email"]},
        "additionalProperties": False,
    },
    "test_headers": {
        "type": "object",
        "properties": {"region": {"type": "string", "x-mcp-header": "Region"}},
        "required": ["region"],
    },
}
NAMES = sorted([*CONTENT, *ASKING, *BY_CAPABILITY, FAILING])


async def list_tools(_: Context, params: PaginatedRequestParams | None) -> ListToolsResult:
    del params
    described = [
        Tool(name=name, description=f"Conformance: {name}", input_schema=SCHEMAS.get(name, NOTHING))
        for name in NAMES
    ]
    return ListToolsResult(tools=described)


async def call_tool(context: Context, params: CallToolRequestParams) -> Answer:
    """Raises: MCPError where there is no such tool."""
    name = params.name
    if name in CONTENT:
        return CallToolResult(content=CONTENT[name])
    if name == FAILING:
        return text("This tool intentionally returns an error for testing", is_error=True)
    if name in ASKING:
        return ASKING[name](params)
    if name in BY_CAPABILITY:
        return BY_CAPABILITY[name](context.session.client_capabilities or ClientCapabilities())
    raise MCPError(INVALID_PARAMS, f"Unknown tool: {name}")


def fixture() -> "Server[dict[str, Any]]":
    """A server for the door, with these tools."""
    return Server(
        "conformance",
        version="1",
        cache_hints={"tools/list": CacheHint(LIST_FRESH_MS, "public")},
        get_tool_input_schema=SCHEMAS.get,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )
