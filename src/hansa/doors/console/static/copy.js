// Gives each command a button that copies it. The button is hidden where it could do nothing.

const SHOWN_MILLISECONDS = 2000;

function select(element) {
  const range = document.createRange();
  range.selectNodeContents(element);
  getSelection().removeAllRanges();
  getSelection().addRange(range);
}

async function copy(button) {
  const command = button.parentElement.querySelector("code");
  try {
    await navigator.clipboard.writeText(command.closest("pre") ? `${command.textContent}\n` : command.textContent);
    button.textContent = "Copied";
  } catch {
    // The clipboard is closed to pages that did not come over HTTPS.
    select(command);
    button.textContent = "Selected";
  }
  setTimeout(() => {
    button.textContent = "Copy";
  }, SHOWN_MILLISECONDS);
}

for (const button of document.querySelectorAll("[data-copy]")) {
  button.hidden = false;
  button.addEventListener("click", () => copy(button));
}
