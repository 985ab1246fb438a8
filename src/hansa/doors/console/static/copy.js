// Shows the buttons that copy: a command beside them, or the text that they name. Without this script they stay hidden.

const SHOWN_MILLISECONDS = 2000;

function select(element) {
  const range = document.createRange();
  range.selectNodeContents(element);
  getSelection().removeAllRanges();
  getSelection().addRange(range);
}

async function copy(button) {
  const label = button.textContent;
  const command = button.dataset.copy ? null : button.parentElement.querySelector("code");
  const text = command ? (command.closest("pre") ? `${command.textContent}\n` : command.textContent) : button.dataset.copy;
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = "Copied";
  } catch {
    // The clipboard is closed to pages that did not come over HTTPS.
    if (command) select(command);
    button.textContent = command ? "Selected" : text;
  }
  setTimeout(() => {
    button.textContent = label;
  }, SHOWN_MILLISECONDS);
}

for (const button of document.querySelectorAll("[data-copy]")) {
  button.hidden = false;
  button.addEventListener("click", () => copy(button));
}
