"""Coarse pictures of pages, which are compared with those in `tests/browser/compared`.

Each pixel of a picture is the mean of a square of the page: edges of glyphs, which each build of a browser draws in its own manner,
disappear; places, sizes and colours remain. Before a picture is taken, all text is set in the typeface of the console, values that differ
between runs are replaced by others of the same length, and drawings made of such values are hidden.
"""

import zlib
from base64 import b64decode, b64encode
from pathlib import Path
from typing import Any

import msgspec
from playwright.async_api import Page

from tests.images import png

COMPARED = Path(__file__).parent / "compared"
SQUARE = 8
# Difference of a colour, of 255, from which on a pixel is another one; and the share of such pixels that a picture may have.
DIFFERENCE_MAX, SHARE_MAX = 32, 0.002
# Another version of the browser may break a line elsewhere; a page without its colours or its columns differs by more.
SHARE_MAX_OF_OTHERS = 0.08
RECORDED_WITH = COMPARED / "browser.txt"
"""Version of the browser that recorded the pictures."""
CHANNELS = 3

PREPARED = """async () => {
  const face = new FontFace("Compared", "url(/static/vendor/figtree/latin.woff2)", { weight: "300 900" });
  document.fonts.add(await face.load());
  for (const name of ["--sans", "--mono"]) document.documentElement.style.setProperty(name, "Compared");
  const steady = text => text
    .replace(/[^\\s!-~]/g, "x")
    .replace(/[A-Za-z0-9_-]{20,}|[0-9a-f]{4,}|[0-9]+/g, found => "0".repeat(found.length));
  for (const time of document.querySelectorAll("time")) time.textContent = "0000-00-00";
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) texts.currentNode.data = steady(texts.currentNode.data);
  for (const field of document.querySelectorAll("input, textarea")) {
    if (["text", "search", ""].includes(field.type) || field.matches("textarea")) field.value = steady(field.value);
  }
  for (const drawing of document.querySelectorAll(".avatar *, .plot *, .qr *, .federation svg")) drawing.style.visibility = "hidden";
  scrollTo(0, 0);
  await new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));
}"""

MEANS = """async ([picture, square]) => {
  const bytes = Uint8Array.from(atob(picture), sign => sign.charCodeAt(0));
  const bitmap = await createImageBitmap(new Blob([bytes], { type: "image/png" }));
  const canvas = new OffscreenCanvas(bitmap.width, bitmap.height).getContext("2d");
  canvas.drawImage(bitmap, 0, 0);
  const { data } = canvas.getImageData(0, 0, bitmap.width, bitmap.height);
  const [width, height] = [Math.floor(bitmap.width / square), Math.floor(bitmap.height / square)];
  const means = new Uint8Array(width * height * 3);
  for (let y = 0; y < height; y++) for (let x = 0; x < width; x++) for (let channel = 0; channel < 3; channel++) {
    let sum = 0;
    for (let row = 0; row < square; row++) for (let column = 0; column < square; column++)
      sum += data[((y * square + row) * bitmap.width + x * square + column) * 4 + channel];
    means[(y * width + x) * 3 + channel] = Math.round(sum / square ** 2);
  }
  return [width, height, btoa(Array.from(means, mean => String.fromCharCode(mean)).join(""))];
}"""


def share_max(version: str) -> float:
    """The share that may differ in a browser of this version."""
    return SHARE_MAX if version == RECORDED_WITH.read_text().strip() else SHARE_MAX_OF_OTHERS


class Picture(msgspec.Struct, frozen=True):
    """Coarse picture: red, green and blue of each pixel, row by row."""

    width: int
    height: int
    pixels: bytes

    def write(self, file: Path) -> None:
        """As a PNG whose rows have no filter."""
        length = CHANNELS * self.width
        rows = b"".join(
            b"\0" + self.pixels[begin : begin + length] for begin in range(0, len(self.pixels), length)
        )
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(png(self.width, self.height, pixels=rows))

    @classmethod
    def read(cls, file: Path) -> "Picture":
        """From a PNG of `write`."""
        data = file.read_bytes()
        width, height = int.from_bytes(data[16:20]), int.from_bytes(data[20:24])
        begin = data.index(b"IDAT")
        packed = data[begin + 4 : begin + 4 + int.from_bytes(data[begin - 4 : begin])]
        rows, length = zlib.decompress(packed), CHANNELS * width + 1
        return cls(
            width, height, b"".join(rows[at + 1 : at + length] for at in range(0, length * height, length))
        )

    def share_of_others(self, other: "Picture") -> float:
        """The share of pixels that differ from those of another picture; all of them where the sizes differ."""
        if (self.width, self.height) != (other.width, other.height):
            return 1.0
        pairs = zip(self.pixels, other.pixels, strict=True)
        differs = [abs(one - two) > DIFFERENCE_MAX for one, two in pairs]
        pixels = range(0, len(differs), CHANNELS)
        return sum(any(differs[at : at + CHANNELS]) for at in pixels) / len(pixels)


async def picture_of(page: Page, blank: Page, *, is_whole: bool) -> tuple[Picture, bytes]:
    """The picture of the open page, whole or as far as its window shows it, and the screenshot that it was made of.

    It is made in `blank`, an empty page.
    """
    await page.evaluate(PREPARED)
    screenshot = await page.screenshot(animations="disabled", caret="hide", scale="css", full_page=is_whole)
    found: Any = await blank.evaluate(MEANS, [b64encode(screenshot).decode(), SQUARE])
    width, height, means = found
    return Picture(width, height, b64decode(means)), screenshot
