// Gives each password field a button that shows what was typed. It is hidden where no script runs.

function toggle(button, field) {
  const isShown = field.type === "text";
  field.type = isShown ? "password" : "text";
  button.textContent = isShown ? "Show" : "Hide";
  button.setAttribute("aria-pressed", String(!isShown));
}

for (const button of document.querySelectorAll("[data-show-password]")) {
  const field = document.getElementById(button.dataset.showPassword);
  button.hidden = false;
  button.addEventListener("click", () => toggle(button, field));
  // What is sent is a password again, so that the browser offers to keep it.
  field.form.addEventListener("submit", () => {
    field.type = "password";
  });
}
