// Opens the interactive description; it asks nobody but this registry.

const darkness = matchMedia("(prefers-color-scheme: dark)");

function followDarkness() {
  document.documentElement.classList.toggle("dark-mode", darkness.matches);
}

darkness.addEventListener("change", followDarkness);
followDarkness();

SwaggerUIBundle({
  url: "/api/v1/openapi.json",
  dom_id: "#api",
  deepLinking: true,
  docExpansion: "list",
  defaultModelsExpandDepth: 0,
  displayRequestDuration: true,
  filter: true,
  validatorUrl: null,
});
