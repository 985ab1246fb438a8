// The time that remains until a moment, beside the moment itself.
const SECOND = 1000;

function remaining(seconds) {
  const parts = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60];
  return parts.map((part) => String(part).padStart(2, "0")).join(":");
}

function show(time) {
  const seconds = Math.floor((Date.parse(time.dateTime) - Date.now()) / SECOND);
  const note = time.nextElementSibling ?? time.parentElement.appendChild(document.createElement("span"));
  note.className = "faint";
  note.textContent = seconds > 0 ? ` in ${remaining(seconds)}` : " expired";
}

const times = [...document.querySelectorAll("time[data-countdown]")];
if (times.length) {
  times.forEach(show);
  setInterval(() => times.forEach(show), SECOND);
}
