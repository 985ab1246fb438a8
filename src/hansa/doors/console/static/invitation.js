// Fills the invitation code of a link in. The code stands behind the #, so that no log of a server or proxy holds it.

const field = document.getElementById("invite_code");

function fill() {
  const code = new URLSearchParams(location.hash.slice(1)).get("invite_code");
  if (!code) return;
  field.value = code.slice(0, field.maxLength);
  // The address bar and the history need not keep a code that opens an account.
  history.replaceState(null, "", location.pathname);
}

fill();
// A second link opened in the same tab loads no new page.
addEventListener("hashchange", fill);
