"use strict";
// What htmx does not do: the switch between dark and light, the chart, and a page that is fetched again when the server says that it has changed.
(() => {
  const root = document.documentElement;
  const remembered = () => { try { return localStorage.getItem("farrier-theme"); } catch { return null; } };
  const theme = remembered();
  if (theme === "dark" || theme === "light") root.dataset.theme = theme;

  const dark = () => root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;

  const switchTheme = () => {
    root.dataset.theme = dark() ? "light" : "dark";
    try { localStorage.setItem("farrier-theme", root.dataset.theme); } catch { /* the page works without memory */ }
    draw();
  };

  const draw = () => {
    for (const box of document.querySelectorAll("[data-chart]")) {
      if (typeof uPlot === "undefined") return;
      let data;
      try { data = JSON.parse(box.dataset.chart); } catch { continue; }
      const colour = (name) => { const probe = document.createElement("i"); probe.style.color = `var(${name})`; box.append(probe); const c = getComputedStyle(probe).color; probe.remove(); return c; };
      const line = colour("--line"), soft = colour("--soft"), edge = colour("--edge"), accent = colour("--accent");
      const bars = uPlot.paths.bars({ size: [0.8, 60] });
      const axis = { stroke: soft, grid: { stroke: line, width: 1 }, ticks: { show: false }, font: "11px system-ui" };
      box.replaceChildren();
      new uPlot({
        width: box.clientWidth, height: 132, legend: { show: false }, cursor: { show: false }, padding: [8, 4, 0, 0],
        scales: { y: { range: (_, __, max) => [0, Math.max(max, 4)] } },
        axes: [{ ...axis, size: 26, values: (_, at) => at.map((s) => new Date(s * 1000).toTimeString().slice(0, 5)) }, { ...axis, size: 28, space: 20, incrs: [1, 2, 5, 10, 50, 100, 500, 1000] }],
        series: [{}, { label: "ordered", fill: edge, stroke: edge, width: 0, paths: bars, points: { show: false } }, { label: "booted", fill: accent, stroke: accent, width: 0, paths: bars, points: { show: false } }],
      }, data, box);
    }
  };

  // busy reports whether a person is in the middle of something that a new page would take away.
  const busy = (main) => main.querySelector("details.ask[open]") !== null || (document.activeElement && main.contains(document.activeElement) && document.activeElement.matches("input, select, textarea, button, .xterm *"));

  const refresh = async (main) => {
    const answer = await fetch(main.dataset.path, { headers: { "HX-Request": "true", "X-Live": "true" }, credentials: "same-origin", redirect: "error" });
    if (!answer.ok || busy(main)) return;
    const open = [...main.querySelectorAll("details[open][id]")].map((d) => d.id);
    const scrolled = main.querySelector(".timeline")?.scrollTop ?? 0;
    const console_ = main.querySelector("#console");
    const next = document.createElement("template");
    next.innerHTML = await answer.text();
    for (const id of open) { const d = next.content.getElementById(id); if (d) d.open = true; }
    const place = next.content.getElementById("console");
    if (console_ && place) place.replaceWith(console_);
    main.replaceChildren(next.content);
    const timeline = main.querySelector(".timeline");
    if (timeline) timeline.scrollTop = scrolled;
    draw();
  };

  const follow = (main) => {
    let waiting = false, asked = false;
    const run = async () => {
      if (waiting) { asked = true; return; }
      waiting = true;
      try { await refresh(main); } catch { /* the stream tells again */ }
      setTimeout(() => { waiting = false; if (asked) { asked = false; run(); } }, 1000);
    };
    const stream = new EventSource(main.dataset.live);
    stream.addEventListener("change", run);
    addEventListener("pagehide", () => stream.close());
  };

  addEventListener("DOMContentLoaded", () => {
    const button = document.getElementById("theme");
    if (button) { button.hidden = false; button.addEventListener("click", switchTheme); }
    draw();
    const main = document.getElementById("main");
    if (main?.dataset.live) follow(main);
  });
})();
