// Shows the login that waits for this phone, and sends the answer: the number that was typed, signed by the passkey.

const PAUSE = 2000;
const SESSIONS = "/api/v1/auth/phone/sessions";
const panel = document.querySelector("[data-login]");
const status = document.querySelector("[data-status]");
const form = panel.querySelector("[data-approve]");
const buttons = panel.querySelectorAll("button");
let present = null;
let isBusy = false;

function show(login) {
  present = login;
  panel.hidden = !login;
  if (!login) return;
  panel.querySelector("[data-address]").textContent = login.address;
  panel.querySelector("[data-user-agent]").textContent = login.user_agent || "not stated";
  panel.querySelector("[data-at]").textContent = new Date(login.at).toLocaleString();
  form.reset();
  status.textContent = "A login waits for your answer.";
}

async function poll() {
  if (!isBusy) {
    try {
      const answer = await fetch(SESSIONS, { cache: "no-store" });
      if (answer.status === 401) {
        show(null);
        status.textContent = "This browser approves logins no more.";
        return;
      }
      const [login = null] = answer.ok ? await answer.json() : [present];
      if (!isBusy && login?.id !== present?.id) {
        if (!login) status.textContent = "No login waits.";
        show(login);
      }
    } catch {
      // The next turn asks again.
    }
  }
  setTimeout(poll, PAUSE);
}

async function send(path, body, done) {
  const answer = await fetch(`${SESSIONS}/${present.id}/${path}`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body),
  });
  const said = await answer.json();
  show(null);
  status.textContent = answer.ok ? done : said.detail;
}

async function busy(act) {
  isBusy = true;
  buttons.forEach((button) => (button.disabled = true));
  try {
    await act();
  } catch {
    status.textContent = "The passkey or the registry did not answer. Try again.";
  } finally {
    buttons.forEach((button) => (button.disabled = false));
    isBusy = false;
  }
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  const number = form.elements.number.value;
  busy(async () => {
    const options = PublicKeyCredential.parseRequestOptionsFromJSON({
      challenge: present.challenge,
      allowCredentials: [{ type: "public-key", id: panel.dataset.credential }],
      userVerification: "required",
    });
    const assertion = await navigator.credentials.get({ publicKey: options });
    await send("approve", { number, assertion: assertion.toJSON() }, "The login is approved.");
  });
});
for (const button of panel.querySelectorAll("[data-deny]")) {
  button.addEventListener("click", () =>
    busy(() => send("deny", { not_me: button.dataset.deny === "true" }, "The login is denied.")),
  );
}
poll();
