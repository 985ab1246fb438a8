// Waits for the phone, and continues as soon as it has answered.

const PAUSE = 2000;
const form = document.querySelector("[data-wait]");

async function ask() {
  try {
    const answer = await fetch("/login/phone/state", { cache: "no-store" });
    if (answer.ok && (await answer.json()).state !== "pending") {
      form.submit();
      return;
    }
  } catch {
    // The next turn asks again.
  }
  setTimeout(ask, PAUSE);
}

ask();
