// Answers the options of a form with a passkey of this browser, and sends the form with the answer.

const CANCELLED = "No passkey was used. Try again.";

async function answered(kind, options) {
  if (kind === "create") {
    return navigator.credentials.create({ publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(options) });
  }
  return navigator.credentials.get({ publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(options) });
}

for (const form of document.querySelectorAll("[data-passkey]")) {
  const status = form.parentElement.querySelector("[data-status]");
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const button = form.querySelector("button");
    button.disabled = true;
    status.textContent = "";
    try {
      const credential = await answered(form.dataset.passkey, JSON.parse(form.dataset.options));
      form.elements.credential.value = JSON.stringify(credential.toJSON());
      form.submit();
    } catch {
      status.textContent = CANCELLED;
      button.disabled = false;
    }
  });
}
