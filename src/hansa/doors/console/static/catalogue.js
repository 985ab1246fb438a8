// Narrows the catalogue while somebody types or chooses. Each state is an address that the server draws whole; this only
// puts the changed parts of it in place. Without this script every link and the form lead to the same pages.

const PAUSE_MILLISECONDS = 200;

const form = document.querySelector("[data-search]");
const box = form.elements.q;
const place = document.querySelector("[data-catalogue]");
const trouble = document.querySelector("[data-trouble]");
let asking = new AbortController();
let pause = 0;
let isTyping = false;

function parts(page) {
  return [...page.querySelectorAll("[data-part]")];
}

function put(page, address, isBack) {
  const focused = document.activeElement?.dataset.choice;
  for (const part of parts(document)) {
    part.replaceChildren(...parts(page).find((other) => other.dataset.part === part.dataset.part).childNodes);
  }
  const count = document.querySelector("[data-count]");
  const fresh = page.querySelector("[data-count]").textContent;
  // A live region is spoken at every write, so only a change is written.
  if (count.textContent !== fresh) count.textContent = fresh;
  // Nobody's typing is overwritten by an answer to what was typed before.
  if (isBack || document.activeElement !== box) box.value = new URL(address, location.href).searchParams.get("q") ?? "";
  if (focused) focusOn(focused);
}

function focusOn(choice) {
  const again = [...place.querySelectorAll("[data-choice]")].find((link) => link.dataset.choice === choice);
  (again ?? box).focus();
}

async function show(address, isBack = false) {
  asking.abort();
  asking = new AbortController();
  const { signal } = asking;
  place.setAttribute("aria-busy", "true");
  try {
    const answer = await fetch(address, { headers: { Accept: "text/html" }, signal });
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    if (!answer.ok || parts(page).length === 0) throw new Error(`${answer.status}`);
    put(page, address, isBack);
    trouble.hidden = true;
  } catch {
    if (signal.aborted) return;
    trouble.textContent = "The registry does not respond. The results shown may be out of date.";
    trouble.hidden = false;
  }
  place.removeAttribute("aria-busy");
}

function written() {
  const members = [...new FormData(form)].map(([name, value]) => [name, value.trim()]);
  const query = new URLSearchParams(members.filter(([, value]) => value));
  return query.size ? `/catalogue?${query}` : "/catalogue";
}

function go(address) {
  history.pushState(null, "", address);
  return show(address);
}

function search() {
  clearTimeout(pause);
  const address = written();
  if (address === location.pathname + location.search) return;
  // All that is typed in one go is one step back.
  if (isTyping) history.replaceState(null, "", address);
  else history.pushState(null, "", address);
  isTyping = true;
  show(address);
}

box.addEventListener("input", () => {
  clearTimeout(pause);
  pause = setTimeout(search, PAUSE_MILLISECONDS);
});
box.addEventListener("blur", () => {
  isTyping = false;
});
form.addEventListener("submit", (event) => {
  event.preventDefault();
  search();
  isTyping = false;
});
place.addEventListener("click", async (event) => {
  const link = event.target.closest("a");
  const isPlain = event.button === 0 && !(event.ctrlKey || event.metaKey || event.shiftKey || event.altKey);
  if (!link || !isPlain || new URL(link.href).pathname !== "/catalogue") return;
  event.preventDefault();
  isTyping = false;
  clearTimeout(pause);
  await go(link.getAttribute("href"));
  if (link.rel) place.scrollIntoView();
});
addEventListener("popstate", () => {
  isTyping = false;
  show(location.pathname + location.search, true);
});
