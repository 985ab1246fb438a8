"""Models that follow a script: each calls the tools by the interface of its framework, and ends with all their answers as JSON.

Copied beside the examples of the guide, and run by the Python of the frameworks.
"""

import json
from typing import Any

PAYEE = "Service"


def next_step(answers: list[str]) -> tuple[str, dict[str, Any]] | str:
    """The next tool with its arguments, by the answers so far, or the final text."""
    read = [json.loads(one) for one in answers]
    match len(read):
        case 0:
            return "find_agents", {"query": PAYEE, "limit": 3}
        case 1 | 4:
            [payee] = [one["agent"] for one in read[0]["agents"] if one["name"] == PAYEE]
            return "quote_call", {"agent": payee, "message": f"good morning {len(read)}"}
        case 2 | 3:
            return "pay_call", {"quote": read[1]["quote"]}
        case 5:
            return "pay_call", {"quote": read[4]["quote"]}
        case 6:
            return "quote_call", {"agent": read[1]["agent"], "message": "once more"}
        case _:
            return json.dumps(read)


def langchain() -> Any:
    from langchain_core.language_models import BaseChatModel
    from langchain_core.messages import AIMessage, ToolMessage
    from langchain_core.outputs import ChatGeneration, ChatResult

    class Scripted(BaseChatModel):
        @property
        def _llm_type(self) -> str:
            return "scripted"

        def bind_tools(self, tools: Any, **_: Any) -> Any:
            return self

        def _generate(self, messages: Any, stop: Any = None, run_manager: Any = None, **_: Any) -> ChatResult:
            answers = [str(one.content) for one in messages if isinstance(one, ToolMessage)]
            step = next_step(answers)
            if isinstance(step, str):
                message = AIMessage(step)
            else:
                call = {"name": step[0], "args": step[1], "id": f"call-{len(answers)}"}
                message = AIMessage("", tool_calls=[call])
            return ChatResult(generations=[ChatGeneration(message=message)])

    return Scripted()


def openai_agents() -> Any:
    from agents import Model, ModelResponse, Usage
    from openai.types.responses import (
        ResponseFunctionToolCall,
        ResponseOutputMessage,
        ResponseOutputText,
    )

    class Scripted(Model):
        async def get_response(self, **given: Any) -> ModelResponse:
            items = [] if isinstance(given["input"], str) else given["input"]
            answers = [one["output"] for one in items if one.get("type") == "function_call_output"]
            step, number = next_step(answers), f"call-{len(answers)}"
            output: Any
            if isinstance(step, str):
                text = ResponseOutputText(type="output_text", text=step, annotations=[])
                output = ResponseOutputMessage(
                    id=number, type="message", role="assistant", status="completed", content=[text]
                )
            else:
                output = ResponseFunctionToolCall(
                    type="function_call", call_id=number, name=step[0], arguments=json.dumps(step[1])
                )
            return ModelResponse(output=[output], usage=Usage(), response_id=None)

        def stream_response(self, *_: Any, **__: Any) -> Any:
            raise NotImplementedError

    return Scripted()


def pydantic_ai() -> Any:
    from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart, ToolReturnPart
    from pydantic_ai.models.function import FunctionModel

    def respond(messages: Any, _: Any) -> ModelResponse:
        parts = [part for message in messages for part in message.parts]
        step = next_step([str(one.content) for one in parts if isinstance(one, ToolReturnPart)])
        part = TextPart(step) if isinstance(step, str) else ToolCallPart(step[0], step[1])
        return ModelResponse(parts=[part])

    return FunctionModel(respond)


def crewai() -> Any:
    from crewai import BaseLLM

    class Scripted(BaseLLM):
        def supports_function_calling(self) -> bool:
            return True

        def call(self, messages: Any, tools: Any = None, *_: Any, **__: Any) -> Any:
            answers = [one["content"] for one in messages if one["role"] == "tool"]
            step = next_step(answers)
            if isinstance(step, str):
                return step
            function = {"name": step[0], "arguments": json.dumps(step[1])}
            return [{"id": f"call-{len(answers)}", "type": "function", "function": function}]

    return Scripted(model="scripted")
