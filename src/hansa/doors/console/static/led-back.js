// Leads back to the client that was allowed. Where no script runs, the link does.

location.replace(document.querySelector("[data-led-back]").href);
