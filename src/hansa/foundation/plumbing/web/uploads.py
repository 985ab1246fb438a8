"""A file that comes with a form, as multipart/form-data."""

from collections.abc import AsyncGenerator

from fastapi import Request
from starlette.datastructures import UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser

from hansa.foundation.values.errors import PayloadTooLarge, UnsupportedMediaType

from .bodies import BodyInvalid, read_within

MULTIPART = "multipart/form-data"
FRAMING_MAX_BYTES = 4096
FIELDS_MAX = 4


async def read_upload(request: Request, member: str, size_max: int) -> tuple[list[tuple[str, str]], bytes]:
    """The text fields of the form, and the bytes of the file `member`: none where there is no such file.

    Raises: UnsupportedMediaType, PayloadTooLarge, BodyInvalid.
    """
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != MULTIPART:
        raise UnsupportedMediaType(f"This route expects {MULTIPART}.")
    body = await read_within(request, size_max + FRAMING_MAX_BYTES)

    async def stream() -> AsyncGenerator[bytes, None]:
        yield body

    try:
        form = await MultiPartParser(request.headers, stream(), max_files=1, max_fields=FIELDS_MAX).parse()
        file = form.get(member)
        content = await file.read() if isinstance(file, UploadFile) else b""
        fields = [(name, value) for name, value in form.multi_items() if isinstance(value, str)]
        await form.close()
    except (MultiPartException, ValueError, KeyError) as error:
        raise BodyInvalid(f"The body is not valid {MULTIPART}.") from error
    if len(content) > size_max:
        raise PayloadTooLarge(f"The file is larger than {size_max} bytes.")
    return fields, content
