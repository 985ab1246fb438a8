"""A request of one operation as code to copy: for curl, Python and JavaScript.

The address is that of this registry, the values are the examples of the API description; a credential is an environment variable.
"""

import json
import shlex
from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import quote, urlencode

import msgspec

JSON, FORM, FILES = "application/json", "application/x-www-form-urlencoded", "multipart/form-data"
SEPARATORS = ":/@,"
"""Characters that stay as they are in a value within a path: DIDs and names of files consist of them."""


class Credential(msgspec.Struct, frozen=True):
    """Header of a credential; `variable` is the environment variable that has it, `prefix` stands in front of it."""

    header: str
    variable: str
    prefix: str = ""


CREDENTIALS = {
    "AgentToken": Credential("Authorization", "AGENT_TOKEN", "Bearer "),
    "DeveloperToken": Credential("Authorization", "DEVELOPER_TOKEN", "Bearer "),
    "BootstrapToken": Credential("Bootstrap-Token", "BOOTSTRAP_TOKEN"),
    "PasswordToken": Credential("Authorization", "PASSWORD_TOKEN", "Bearer "),
    "InternalKey": Credential("X-Internal-Key", "INTERNAL_KEY"),
    "MetricsToken": Credential("Authorization", "METRICS_TOKEN", "Bearer "),
    "FederationLicence": Credential("X-Federation-License", "LICENCE_KEY"),
}


class ExampleRequest(msgspec.Struct, frozen=True):
    """A request with example values. `body` is JSON-ready, or text where the media type is neither JSON nor a form."""

    method: str
    url: str
    credential: Credential | None = None
    media_type: str = ""
    body: Any = None


class Sample(msgspec.Struct, frozen=True):
    """The request in one language; `key` names it in addresses of the page."""

    key: str
    title: str
    code: str
    language: str


def address_of(base_url: str, path: str, values: dict[str, str], query: Sequence[tuple[str, str]]) -> str:
    """The address of an operation with these values in its path and query."""
    for name, value in values.items():
        path = path.replace(f"{{{name}}}", quote(value, safe=SEPARATORS))
    return base_url + path + (f"?{urlencode(query)}" if query else "")


def samples_of(request: ExampleRequest) -> list[Sample]:
    """The request in each language."""
    return [
        Sample("curl", "curl", _curl(request), "sh"),
        Sample("python", "Python", _python(request), "python"),
        Sample("javascript", "JavaScript", _javascript(request), "javascript"),
    ]


def _curl(request: ExampleRequest) -> str:
    parts = ["curl -sS --fail-with-body"]
    if request.method != "GET":
        parts.append(f"-X {request.method}")
    parts.append(shlex.quote(request.url))
    if credential := request.credential:
        parts.append(f'-H "{credential.header}: {credential.prefix}${credential.variable}"')
    parts += _body_of_curl(request)
    return " \\\n  ".join(parts)


def _body_of_curl(request: ExampleRequest) -> Iterator[str]:
    if request.body is None:
        return
    if request.media_type == FORM:
        for name, value in request.body.items():
            yield f"--data-urlencode {shlex.quote(f'{name}={value}')}"
    elif request.media_type == FILES:
        for name in request.body:
            yield f"-F {name}=@./{name}"
    else:
        yield f"-H 'Content-Type: {request.media_type}'"
        is_json = request.media_type == JSON
        text = _pretty(request.body) if is_json else str(request.body)
        yield f"{'-d' if is_json else '--data-binary'} {shlex.quote(text)}"


def _python(request: ExampleRequest) -> str:
    arguments = [f"    {_quoted(request.method)},", f"    {_quoted(request.url)},"]
    headers = []
    if credential := request.credential:
        value = f"os.environ['{credential.variable}']"
        value = f'f"{credential.prefix}{{{value}}}"' if credential.prefix else value
        headers.append(f"{_quoted(credential.header)}: {value}")
    if request.body is not None and request.media_type not in {JSON, FORM, FILES}:
        headers.append(f'"Content-Type": {_quoted(request.media_type)}')
    if headers:
        arguments.append(f"    headers={{{', '.join(headers)}}},")
    if request.body is not None:
        arguments.append(f"    {_body_of_python(request)},")
    lines = ["import os\n" if request.credential else "", "import requests", ""]
    lines += ["answer = requests.request(", *arguments, ")", "print(answer.status_code, answer.text)"]
    return "\n".join(lines).lstrip("\n")


def _body_of_python(request: ExampleRequest) -> str:
    if request.media_type == JSON:
        return f"json={_literal(request.body)}"
    if request.media_type == FORM:
        return f"data={_literal(request.body)}"
    if request.media_type == FILES:
        files = ", ".join(f'"{name}": open("{name}", "rb")' for name in request.body)
        return f"files={{{files}}}"
    return f"data={_quoted(str(request.body))}"


def _literal(value: Any, indent: str = "    ") -> str:
    """The value as Python writes it, a member on each line."""
    inner = f"{indent}    "
    if isinstance(value, dict) and value:
        rows = [f"{inner}{_quoted(str(name))}: {_literal(one, inner)},\n" for name, one in value.items()]
        return "{\n" + "".join(rows) + f"{indent}}}"
    if isinstance(value, list) and value:
        return "[\n" + "".join(f"{inner}{_literal(one, inner)},\n" for one in value) + f"{indent}]"
    return _quoted(value) if isinstance(value, str) else repr(value)


def _javascript(request: ExampleRequest) -> str:
    options = [f"  method: {_quoted(request.method)},"] if request.method != "GET" else []
    headers = []
    if credential := request.credential:
        name = credential.header if credential.header.isalpha() else _quoted(credential.header)
        variable = f"process.env.{credential.variable}"
        headers.append(
            f"{name}: `{credential.prefix}${{{variable}}}`" if credential.prefix else f"{name}: {variable}"
        )
    if request.body is not None and request.media_type not in {FORM, FILES}:
        headers.append(f'"Content-Type": {_quoted(request.media_type)}')
    if headers:
        options.append(f"  headers: {{ {', '.join(headers)} }},")
    if request.body is not None:
        options.append(f"  body: {_body_of_javascript(request)},")
    lines = ["import { openAsBlob } from 'node:fs';\n"] if request.media_type == FILES else []
    lines += _files_of_javascript(request)
    if options:
        lines += [f"const answer = await fetch({_quoted(request.url)}, {{", *options, "});"]
    else:
        lines.append(f"const answer = await fetch({_quoted(request.url)});")
    return "\n".join([*lines, "console.log(answer.status, await answer.text());"])


def _files_of_javascript(request: ExampleRequest) -> list[str]:
    if request.media_type != FILES:
        return []
    appended = [f"form.append({_quoted(name)}, await openAsBlob({_quoted(name)}));" for name in request.body]
    return ["const form = new FormData();", *appended]


def _body_of_javascript(request: ExampleRequest) -> str:
    if request.media_type == JSON:
        return f"JSON.stringify({_pretty(request.body)})".replace("\n", "\n  ")
    if request.media_type == FORM:
        return f"new URLSearchParams({_pretty(request.body)})".replace("\n", "\n  ")
    return "form" if request.media_type == FILES else _quoted(str(request.body))


def _pretty(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False)


def _quoted(text: str) -> str:
    """The text as a string of Python and of JavaScript."""
    return json.dumps(text, ensure_ascii=False)
