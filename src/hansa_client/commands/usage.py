"""Message of a usage error: the argument that the option parser refused, without the terms of that parser."""

from typer.exceptions import TyperException

PARSER_PREFIX = "Value error, "
PARSER_INTEGER = (
    "Input should be a valid integer, unable to parse string as an integer",
    "it must be a whole number",
)


def usage_sentence(error: TyperException, program: str) -> str | None:
    """Return the fault and the place of the help; None for a group without a command, which has printed its help by now."""
    message = error.format_message().rstrip(".").replace(PARSER_PREFIX, "").replace(*PARSER_INTEGER)
    if not message:
        return None
    context = getattr(error, "ctx", None)
    path = context.command_path if context else program
    end = "" if message.endswith("?") else "."
    return f"{message}{end} See `{path} --help`."
