"""Card text of any script, with signs that turn and hide, turns nothing around it and hides nothing of it."""

import json
import re

import pytest
from playwright.async_api import Page, expect

from hansa.foundation.values.visible_text import seen
from hansa.rooms import catalogue
from tests.registry import TestRegistry, card_of

# Opens, closes and overrides what a page isolates: only leaving the signs out helps.
TURNS = "\u202e\u2067\u202b"
CLOSES = "\u2069\u202c\u2069\u2069"
HEBREW = "\u05e9\u05dc\u05d5\u05dd"
SIGNS = re.compile("[\u061c\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]")
HIDDEN = f"{CLOSES}{TURNS}exe.gnp"
RIGHT_TO_LEFT = f"{HEBREW}{CLOSES}{TURNS} (5"
PEER = "north.example.org"
DID = f"did:hansa:{PEER}:1"

# Every character of the registry stands to the right of the one before it on its line, and so does every text of an owner,
# which is isolated in an element of its own.
TURNED = """() => {
  const turned = [], places = new Map(), range = document.createRange();
  const put = (node, boxes, text) => {
    let block = node.parentElement;
    while (getComputedStyle(block).display.startsWith("inline")) block = block.parentElement;
    const last = places.get(block), [first, end] = [boxes[0], boxes.at(-1)];
    const isSameLine = last && first.top < last.bottom - 2;
    if (isSameLine && first.left < last.right - 1) turned.push(text);
    places.set(block, { right: end.right, bottom: Math.max(end.bottom, isSameLine ? last.bottom : -Infinity) });
  };
  const walk = (node) => {
    if (node.nodeType === Node.TEXT_NODE) {
      for (let place = 0; place < node.length; place++) {
        range.setStart(node, place);
        range.setEnd(node, place + 1);
        const boxes = [...range.getClientRects()].filter((box) => box.width > 0);
        if (boxes.length) put(node, boxes, node.data.slice(Math.max(0, place - 20), place + 20));
      }
    } else if (node.nodeType === Node.ELEMENT_NODE && !/^(SCRIPT|STYLE|NOSCRIPT)$/.test(node.tagName)) {
      const boxes = [...node.getClientRects()].filter((box) => box.width > 0);
      if (node.tagName === "BDI" || node.dir === "auto") { if (boxes.length) put(node, boxes, node.outerHTML); } else node.childNodes.forEach(walk);
    }
  };
  walk(document.body);
  return turned;
}"""


async def require_readable(page: Page) -> None:
    """Nothing on the page is turned, and no sign that turns or hides is on it."""
    assert await page.evaluate(TURNED) == []
    assert SIGNS.findall(await page.evaluate("document.documentElement.innerText")) == []


def hostile_card(text: str) -> dict:
    return {
        "description": text,
        "version": text,
        "tags": [text],
        "provider": {"organization": text, "url": f"https://a.example.org/{HIDDEN}/b"},
        "documentationUrl": f"https://a.example.org/{RIGHT_TO_LEFT.replace(' ', '')}/b?c=1",
        "skills": [{"id": "s", "name": text, "description": text, "tags": [text], "examples": [text, text]}],
        "pricing": {"base_rate": 2.5, "currency": text[:12], "model": text},
        "supportedInterfaces": [
            {
                "url": f"https://a.example.org/{HEBREW}/{HIDDEN}/b",
                "protocolBinding": "JSONRPC",
                "protocolVersion": "1.0",
            },
            {"url": "https://a.example.org/b", "protocolBinding": text, "protocolVersion": text},
        ],
    }


@pytest.mark.parametrize("text", [HIDDEN, RIGHT_TO_LEFT, HEBREW], ids=["hidden", "both", "hebrew"])
async def test_a_card_reorders_nothing_around_its_words(text: str, registry: TestRegistry, visit):
    agent = await registry.agent(name=text, **hostile_card(text))
    await registry.database.transaction(
        lambda tx: catalogue.mirror_cards(
            tx,
            source_registry=text,
            trust_domain=PEER,
            settlement_currency=text[:8],
            items=[{"did": DID, "version": 1, "card_data": card_of(text, **hostile_card(text))}],
        )
    )
    await registry.indexed()
    page = (await visit("/livez", viewport={"width": 1200, "height": 900})).page
    for path in (
        f"/agents/{agent.did}",
        f"/agents/{DID}",
        f"/agents/did:hansa:{text}",
        "/catalogue",
        f"/catalogue?tag={text}&origins={text}&q={text}",
    ):
        await page.goto(path)
        await require_readable(page)


async def test_what_was_signed_is_shown_without_signs_that_turn(registry: TestRegistry, visit):
    agent = await registry.agent(name=f"safe{HIDDEN}", pricing={"base_rate": "1", "model": f"flat{HIDDEN}"})
    page = (await visit(f"/agents/{agent.did}")).page
    await page.get_by_role("button", name="Verify signature").click()
    await expect(page.get_by_role("status")).to_have_text("Verified")
    await expect(page.locator("[data-findings]")).to_contain_text("safeexe.gnp")
    await require_readable(page)


async def test_the_browser_leaves_out_what_the_server_leaves_out(script_page: Page):
    texts = [
        *(chr(code) for code in (*range(0x300), *range(0x2000, 0x2070), 0xFEFF, 0xE0041, 0x1F600)),
        *(f"a{chr(code)}b" for code in range(0x2000, 0x2070)),
        *(
            "\u200d",
            "a\u200db",
            "\u0646\u200c\u0647",
            "\u0646\u200c\u200d\u0647",
            "👨\u200d👩\u200d👧",
            "👨\u200da",
        ),
        *("Z" + "\u0301" * 9 + "a", "\u3164\u115f\u2800", HIDDEN, RIGHT_TO_LEFT, "a\r\nb\tc"),
    ]
    shown = await script_page.evaluate(
        "async (texts) => { const { seen } = await import('/static/seen.js'); return texts.map(seen); }",
        texts,
    )
    differing = [
        (text, there, seen(text)) for text, there in zip(texts, shown, strict=True) if there != seen(text)
    ]
    assert differing == []


async def test_the_title_of_a_page_reads_from_the_agent_to_the_registry(registry: TestRegistry, visit):
    page = (await visit("/livez")).page
    for text in (HIDDEN, RIGHT_TO_LEFT, HEBREW, "\u3164\u202e"):
        agent = await registry.agent(name=text)
        await page.goto(f"/agents/{agent.did}")
        await require_title(page, text, registry.settings.registry_name)


async def require_title(page: Page, text: str, name: str) -> None:
    """The title is that of an agent of this name, and the registry stands to the right of it."""
    title = await page.title()
    assert seen(title) == f"{seen(text).strip() or '(nothing that can be seen)'} · {name}"
    # As a browser draws it: by itself, in the direction that it has of its own.
    turned = await page.evaluate(
        """([title, end]) => {
          const line = document.createElement("p");
          line.style = "unicode-bidi: plaintext; white-space: pre";
          line.textContent = title;
          document.body.replaceChildren(line);
          const box = (from, to) => {
            const range = document.createRange();
            range.setStart(line.firstChild, from);
            range.setEnd(line.firstChild, to);
            return range.getBoundingClientRect();
          };
          const boxes = [...end].map((_, place) => box(title.length - end.length + place, title.length - end.length + place + 1));
          const agent = box(0, title.length - end.length);
          return boxes.some((one, place) => one.left < (place ? boxes[place - 1].left : agent.right - 1));
        }""",
        [title, f" · {name}"],
    )
    assert not turned


async def test_a_machine_reads_the_words_without_signs_and_addresses_as_they_are_dialled(
    registry: TestRegistry, visit
):
    agent = await registry.agent(name=f"safe{HIDDEN}", **hostile_card(HIDDEN))
    page = (await visit(f"/agents/{agent.did}")).page
    returned = json.loads(await page.locator("script[type='application/ld+json']").text_content())
    assert SIGNS.findall(json.dumps(returned, ensure_ascii=False)) == []
    assert returned["name"] == "safeexe.gnp"
    assert returned["provider"]["url"].startswith("https://a.example.org/%E2%81%A9")
    assert returned["identifier"] == agent.did


async def test_a_description_from_right_to_left_begins_at_the_right(registry: TestRegistry, visit):
    agent = await registry.agent(name="Hebrew", description=f"{HEBREW} {HEBREW}.")
    opened = await visit(f"/agents/{agent.did}", viewport={"width": 1200, "height": 900})
    description = opened.page.locator("p.prose").first
    assert await description.evaluate("element => getComputedStyle(element).direction") == "rtl"
