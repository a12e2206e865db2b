"use strict";
// Draws the charts, highlights one strategy in all of them, and opens folded parts for printing, except long tables.
(async () => {
  const page = document.documentElement;
  let opened = [];
  addEventListener("beforeprint", () => {
    opened = [...document.querySelectorAll("details:not([open]):not([data-long])")];
    for (const one of opened) one.open = true;
  });
  addEventListener("afterprint", () => opened.forEach((one) => (one.open = false)));
  const island = document.getElementById("charts");
  if (!island || typeof vegaEmbed !== "function") return;
  const { config, charts } = JSON.parse(island.textContent);
  const views = [];
  // Sets a signal of all charts. The height of charts with one line per row follows the number of rows.
  const tell = (signal, value) =>
    views.forEach(async ({ view, spec }) => {
      await view.signal(signal, value).runAsync();
      const row = spec.usermeta?.row;
      if (row) await view.height(row * Math.max(1, view.scale("y").domain().length)).runAsync();
    });
  // A saved chart gets its own title and legend.
  const save = async (id, format, { view, spec, options }) => {
    const named = [...view.signal("leaders"), view.signal("picked")];
    const whole = JSON.parse(JSON.stringify(spec), (key, value) => (key === "legend" && value === null ? { values: named } : value));
    Object.assign(whole, { title: spec.description, width: view.width(), height: view.height(), autosize: "pad", background: "white" });
    const copy = await vegaEmbed(document.createElement("div"), whole, options);
    for (const name of ["picked", "leaders"]) copy.view.signal(name, view.signal(name));
    await copy.view.runAsync();
    const link = document.createElement("a");
    link.href = await copy.view.toImageURL(format, format === "png" ? 2 : 1);
    link.download = `${id}.${format}`;
    link.click();
    copy.finalize();
    document.getElementById("said").textContent = `Saved ${link.download}`;
  };
  for (const { id, spec } of charts) {
    const options = { mode: "vega-lite", config, ast: true, renderer: "svg", actions: false };
    const { view } = await vegaEmbed(document.getElementById(id), spec, options);
    views.push({ view, spec });
    view.addEventListener("mousemove", (event, item) => {
      const hovered = item?.datum?.series ?? item?.items?.[0]?.datum?.series ?? null;
      if (hovered !== view.signal("hovered")) view.signal("hovered", hovered).runAsync();
    });
    const figure = document.getElementById(`${id}-figure`);
    figure.querySelector(".save").hidden = false;
    for (const button of figure.querySelectorAll(".save button"))
      button.addEventListener("click", () => save(id, button.dataset.format, { view, spec, options }));
  }
  const legend = document.querySelector(".legend");
  if (legend) {
    legend.hidden = false;
    // Keeps the focused element below the parts that stay at the top.
    const nav = document.querySelector("nav");
    new ResizeObserver(() => {
      const stays = nav.offsetHeight + (getComputedStyle(legend).position === "sticky" ? legend.offsetHeight : 0);
      page.style.scrollPaddingTop = `${stays + 12}px`;
    }).observe(legend);
    // Strategies that do not lead are grey until all are shown in colour.
    const everyone = document.getElementById("everyone");
    const names = (buttons) => [...legend.querySelectorAll(buttons)].map((one) => one.dataset.series);
    everyone?.addEventListener("click", () => {
      const all = page.toggleAttribute("data-everyone");
      everyone.setAttribute("aria-pressed", String(all));
      tell("leaders", names(all ? "[data-series]" : "[data-series]:not(.rest)"));
    });
    legend.addEventListener("click", (event) => {
      const button = event.target.closest("[data-series]");
      if (!button) return;
      const picked = button.getAttribute("aria-pressed") === "true" ? null : button.dataset.series;
      for (const one of legend.querySelectorAll("[data-series]"))
        one.setAttribute("aria-pressed", String(one.dataset.series === picked));
      tell("picked", picked);
    });
  }
  page.dataset.drawn = String(views.length);
})().catch((error) => {
  document.documentElement.dataset.failed = String(error);
  throw error;
});
