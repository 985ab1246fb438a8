// The same shell on every page: the menu of the session on pages that are the same for everybody, "/" for the search, and its
// suggestions of agents, and the current tab within a row of tabs that is wider than the window.

// Cookie without a secret: only a browser that has logged in asks for the menu of its session.
const HAS_SESSION = /(?:^|; )(?:__Host-)?hansa_person=1(?:;|$)/;

async function showSession(place) {
  const answer = await fetch("/session/menu", { headers: { Accept: "text/html" } });
  if (answer.ok) place.innerHTML = await answer.text();
}

const place = document.querySelector("[data-session]");
if (place && HAS_SESSION.test(document.cookie)) showSession(place).catch(() => {});

// A page with other fields that suggest agents has loaded the module already.
document.querySelector("[data-find][data-pick]")?.addEventListener("focus", () => import("/static/picker.js").catch(() => {}), { once: true });

for (const tab of document.querySelectorAll("nav.tabs [aria-current]")) {
  tab.parentElement.scrollLeft = tab.offsetLeft - (tab.parentElement.clientWidth - tab.offsetWidth) / 2;
}

addEventListener("keydown", (event) => {
  const isTyping = event.target.closest("input, textarea, select, [contenteditable]");
  const isSearch = (event.key === "/" && !isTyping && !event.ctrlKey && !event.metaKey) || (event.key === "k" && (event.ctrlKey || event.metaKey));
  const find = document.querySelector("[data-find]");
  if (!isSearch || !find || find.offsetParent === null) return;
  event.preventDefault();
  find.focus();
  find.select();
});
