// Suggests agents of the catalogue in fields that name one; the value is the DID, the label the name.

const PAUSE_MILLISECONDS = 150;
const SHOWN = 8;

function pick(field) {
  const list = field.list;
  const given = [...list.options].map((option) => option.cloneNode());
  let asked = 0;

  async function suggest() {
    const text = field.value.trim();
    const turn = (asked += 1);
    if (text.length < 2 || text.startsWith("did:")) return;
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MILLISECONDS));
    if (turn !== asked) return;
    const answer = await fetch(`/api/v1/discover?limit=${SHOWN}&query=${encodeURIComponent(text)}`);
    if (!answer.ok || turn !== asked) return;
    const { results } = await answer.json();
    const found = results.filter((agent) => agent.did).map((agent) => {
      const option = document.createElement("option");
      option.value = agent.did;
      option.label = `${agent.name} (${agent.human_readable_id})`;
      return option;
    });
    list.replaceChildren(...found, ...given);
  }

  field.addEventListener("input", suggest);
}

document.querySelectorAll("input[list][data-pick]").forEach(pick);
