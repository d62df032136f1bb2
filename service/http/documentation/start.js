"use strict";
SwaggerUIBundle({
  url: "openapi.json",
  dom_id: "#docs",
  deepLinking: true,
  layout: "BaseLayout",
  presets: [SwaggerUIBundle.presets.apis],
  validatorUrl: null, // nothing is sent elsewhere
  persistAuthorization: false, // a key is forgotten with the page
});
