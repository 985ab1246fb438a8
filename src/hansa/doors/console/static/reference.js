// Filters the operations by name and path, and keeps the language of the code for the next page.

const LANGUAGE = "hansa-language";

const field = document.querySelector("[data-filter]");
const status = document.querySelector("[data-filtered]");
const subjects = [...document.querySelectorAll("[data-subject]")].map((element) => ({
  element,
  wasOpen: element.open,
  rows: [...element.querySelectorAll("li")].map((row) => ({ row, text: `${row.textContent} ${row.dataset.path}`.toLowerCase() })),
}));

function filter() {
  const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
  const found = new Set();
  for (const { element, wasOpen, rows } of subjects) {
    let matching = 0;
    for (const { row, text } of rows) {
      const isMatch = words.every((word) => text.includes(word));
      row.hidden = !isMatch;
      matching += isMatch;
      if (isMatch) found.add(row.querySelector("a").pathname);
    }
    element.hidden = matching === 0;
    if ("open" in element) element.open = words.length ? matching > 0 : wasOpen;
  }
  status.textContent = words.length ? `${found.size} found` : "";
}

field.addEventListener("input", filter);
field.addEventListener("keydown", (event) => {
  const first = field.value && document.querySelector("[data-subject]:not([hidden]) li:not([hidden]) a");
  if (event.key === "Enter" && first) location.assign(first.href);
});
if (field.value) filter();

const languages = [...document.querySelectorAll("input[name=language]")];
// A browser without storage keeps nothing; the page works as before.
try {
  const kept = languages.find((one) => one.value === localStorage.getItem(LANGUAGE));
  if (kept) kept.checked = true;
  for (const one of languages) one.addEventListener("change", () => localStorage.setItem(LANGUAGE, one.value));
} catch {}
