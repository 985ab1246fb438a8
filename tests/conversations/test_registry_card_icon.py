"""The icon of the registry card: judged by its content, rewritten, served."""

import pytest

from hansa_verify import read_keys
from hansa_verify.registry_card import verify_registry_card
from tests.images import JPEG, chunk, png

UPLOAD = "/admin/registry-card/icon"
ICON = "/registry-card/icon"


async def upload(registry, image, *, name="icon.png", member="file", kind="image/png"):
    administrator = await registry.administrator("admin_platform")
    return await registry.post(UPLOAD, files={member: (name, image, kind)}, headers=administrator.headers)


async def test_an_icon_is_served_and_named_on_the_signed_card(registry):
    assert (await registry.http.get(ICON)).status_code == 404
    answer = await upload(registry, png(3, 2))
    assert answer.status_code == 200, answer.text
    icon = await registry.http.get(ICON)
    assert (icon.status_code, icon.headers["content-type"]) == (200, "image/png")
    assert icon.headers["x-content-type-options"] == "nosniff"
    card = await registry.http.get("/.well-known/registry-card.json")
    assert card.json()["visual"]["icon_url"].startswith(f"{registry.settings.base_url}{ICON}?v=")
    keys = read_keys((await registry.http.get("/.well-known/registry-jwks.json")).json())
    assert verify_registry_card(card.text, keys).is_valid


async def test_the_kind_of_an_icon_is_decided_by_its_content_and_not_by_its_name(registry):
    answer = await upload(registry, JPEG, name="icon.png", kind="image/png")
    assert answer.status_code == 200, answer.text
    assert (await registry.http.get(ICON)).headers["content-type"] == "image/jpeg"


async def test_what_is_not_needed_to_show_an_icon_is_removed(registry):
    text = chunk(b"tEXt", b"Author\0Anna Secret")
    assert (await upload(registry, png(2, 2, text) + b"<script>alert(1)</script>")).status_code == 200
    stored = (await registry.http.get(ICON)).content
    assert b"Secret" not in stored
    assert stored.endswith(chunk(b"IEND", b""))
    exif = b"\xff\xe1" + (2 + 12).to_bytes(2) + b"Exif\0\0SECRET"
    assert (await upload(registry, JPEG[:2] + exif + JPEG[2:] + b"PK\x03\x04")).status_code == 200
    stored = (await registry.http.get(ICON)).content
    assert b"SECRET" not in stored
    assert stored.endswith(b"\xff\xd9")


@pytest.mark.parametrize(
    "image",
    [
        b"<svg xmlns='http://www.w3.org/2000/svg'/>",
        b"GIF89a",
        b"\x89PNG\r\n\x1a\n",
        png(2, 2)[:-1],
        png(2, 2)[:40] + b"x" + png(2, 2)[41:],
        png(2, 2, pixels=bytes(15)),
        png(2, 2, pixels=bytes(13)),
        png(1025, 1, pixels=bytes(10)),
        png(0, 1, pixels=b""),
        # A bomb: eight megabytes of pixels that the header does not announce.
        png(1, 1, pixels=bytes(8 << 20)),
        JPEG[:-20],
        JPEG[:3] + b"\xe0\xff\xff",
        b"\xff\xd8\xff\xd9",
        b"\xff\xd8\xff",
    ],
    ids=range(14),
)
async def test_what_is_no_png_or_jpeg_is_refused_and_changes_nothing(registry, image):
    answer = await upload(registry, image)
    assert answer.status_code == 422, answer.text
    assert answer.json()["error"]["code"] == "REGISTRY_ICON_INVALID"
    assert answer.json()["error"]["field"] == "file"
    assert (await registry.http.get(ICON)).status_code == 404


async def test_an_interlaced_png_has_the_pixels_of_its_passes(registry):
    # Columns and rows of the passes of 4 by 4 pixels that are not empty.
    passes = ((1, 1), (1, 1), (2, 1), (2, 2), (4, 2))
    pixels = bytes(sum(rows * (1 + 3 * columns) for columns, rows in passes))
    answer = await upload(registry, png(4, 4, pixels=pixels, interlace=1))
    assert answer.status_code == 200, answer.text
    assert (await upload(registry, png(4, 4, pixels=pixels + b"0", interlace=1))).status_code == 422


async def test_an_icon_has_at_most_500_kilobytes(registry):
    answer = await upload(registry, png(1, 1) + bytes(500_000))
    assert answer.status_code == 413
    answer = await upload(registry, bytes(600_000))
    assert answer.status_code == 413


async def test_an_upload_without_the_member_file_or_of_another_kind_is_refused(registry):
    assert (await upload(registry, png(1, 1), member="image")).status_code == 422
    administrator = await registry.administrator("admin_platform")
    answer = await registry.post(UPLOAD, json={"file": "x"}, headers=administrator.headers)
    assert answer.status_code == 415
    headers = {**administrator.headers, "Content-Type": "multipart/form-data"}
    assert (await registry.post(UPLOAD, content=b"x", headers=headers)).status_code == 422
    headers["Content-Type"] = "multipart/form-data; boundary=x"
    for body in (
        b"x",
        b"--x\r\n\r\n",
        b'--x\r\nContent-Disposition: form-data; name="file"\r\n\r\ntext\r\n--x--',
    ):
        assert (await registry.post(UPLOAD, content=body, headers=headers)).status_code == 422


async def test_only_an_administrator_of_the_platform_uploads_an_icon(registry):
    assert (await registry.post(UPLOAD, files={"file": ("x", png(1, 1))})).status_code == 401
    stranger = await registry.administrator("admin_treasury")
    answer = await registry.post(UPLOAD, files={"file": ("x", png(1, 1))}, headers=stranger.headers)
    assert answer.status_code == 403
