// Fills the invitation of a link in. It stands behind the #, so that no log of a server or proxy holds it.

const FIELDS = ["invite_code", "invitation", "invitation_token"];
const field = FIELDS.map((id) => document.getElementById(id)).find(Boolean);

function fill() {
  const text = new URLSearchParams(location.hash.slice(1)).get(field.id);
  if (!text) return;
  field.value = field.maxLength > 0 ? text.slice(0, field.maxLength) : text;
  // The address bar and the history need not keep an invitation.
  history.replaceState(null, "", location.pathname);
}

fill();
// A second link opened in the same tab loads no new page.
addEventListener("hashchange", fill);
