// The form of a call: examples fill the message, and the page says that the call is under way.
const form = document.querySelector("form[data-call]");
if (form) {
  for (const example of form.querySelectorAll("[data-example]")) {
    example.hidden = false;
    example.addEventListener("click", () => {
      form.elements.message.value = example.textContent;
      form.elements.message.focus();
    });
  }
  form.addEventListener("submit", () => {
    const progress = form.querySelector("[data-progress]");
    const began = Date.now();
    progress.hidden = false;
    setInterval(() => {
      progress.querySelector("[data-seconds]").textContent = String(Math.round((Date.now() - began) / 1000));
    }, 1000);
  });
}
