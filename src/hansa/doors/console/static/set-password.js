// Sets a new password with the token of a mailed link. The token stands behind the # and never leaves the browser but
// in the one request that it is for.

const form = document.querySelector("[data-set-password]");
const status = document.querySelector("[data-status]");
const token = new URLSearchParams(location.hash.slice(1)).get("token");
const LINK_DEAD = "This link has been used or has expired. Request a new one.";

function end(sentence) {
  form.hidden = true;
  status.textContent = sentence;
}

async function send(event) {
  event.preventDefault();
  const button = form.querySelector("button");
  button.disabled = true;
  status.textContent = "";
  try {
    const answer = await fetch("/api/v1/auth/set-new-password", {
      method: "POST",
      headers: { Authorization: `Bearer ${token}`, "Content-Type": "application/json" },
      body: JSON.stringify({ new_password: form.elements.new_password.value }),
    });
    const said = await answer.json();
    if (answer.ok) end("The new password is set. You can log in with it.");
    else if (answer.status === 401) end(LINK_DEAD);
    else status.textContent = said.detail;
  } catch {
    status.textContent = "The registry cannot be reached. Try again.";
  } finally {
    button.disabled = false;
  }
}

// The address bar and the history need not keep what opens an account.
history.replaceState(null, "", location.pathname);
if (token) {
  form.hidden = false;
  form.addEventListener("submit", send);
} else {
  end("Open this page with the link from the password e-mail.");
}
