"""Records are structs: a dataclass costs fifty times as much when its module is imported."""

import ast
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src" / "hansa"


def is_dataclass(definition: ast.ClassDef) -> bool:
    return any(ast.unparse(one).partition("(")[0] == "dataclass" for one in definition.decorator_list)


def needs_a_dataclass(definition: ast.ClassDef) -> bool:
    """Return whether it keeps a member out of its text, or keeps a value that it has computed."""
    text = ast.unparse(definition)
    return "repr=False" in text or "@cached_property" in text


def needless_dataclasses(source: Path) -> Iterator[str]:
    for file in sorted(source.rglob("*.py")):
        text = file.read_text()
        if "dataclass" not in text:
            continue
        found = [one for one in ast.walk(ast.parse(text)) if isinstance(one, ast.ClassDef)]
        bases_of_others = {
            ast.unparse(base)
            for one in found
            if is_dataclass(one) and needs_a_dataclass(one)
            for base in one.bases
        }
        for one in found:
            if is_dataclass(one) and not needs_a_dataclass(one) and one.name not in bases_of_others:
                yield f"{file.relative_to(source)}: {one.name}"


def test_records_are_structs_unless_they_hide_a_member_or_keep_a_computed_value():
    needless = list(needless_dataclasses(SOURCE))
    assert needless == [], "derive these records from msgspec.Struct (decision 0178)"


def test_a_needless_dataclass_is_found_and_a_hidden_member_is_a_reason(tmp_path: Path):
    (tmp_path / "records.py").write_text(
        "@dataclass(frozen=True)\nclass Plain:\n    did: str\n\n"
        "@dataclass(frozen=True)\nclass Base:\n    did: str\n\n"
        "@dataclass(frozen=True)\nclass Sealed(Base):\n    secret: str = field(repr=False)\n\n"
        "class Light(msgspec.Struct, frozen=True):\n    did: str\n"
    )
    assert list(needless_dataclasses(tmp_path)) == ["records.py: Plain"]
