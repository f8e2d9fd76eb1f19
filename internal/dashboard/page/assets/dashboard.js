"use strict";
// What pages do by themselves: the switch between dark and light, the chart, and a page that follows what the server streams.
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

  // busy reports whether a person is in the middle of something that a new picture would take away.
  const busy = (main) => {
    const at = document.activeElement;
    return main.querySelector("details.ask[open], form.grid:focus-within") !== null || Boolean(at && main.contains(at) && at.matches("input, select, textarea, button"));
  };

  // show puts a new picture into main, and keeps what the person has opened, scrolled and connected there.
  const show = (main, html) => {
    const next = document.createElement("template");
    next.innerHTML = html;
    for (const opened of main.querySelectorAll("details[open][id]")) {
      const same = next.content.getElementById(opened.id);
      if (same) same.open = true;
    }
    const terminal = main.querySelector("#console"), place = next.content.querySelector("#console");
    const kept = terminal && place && !terminal.querySelector(".empty");
    const focused = document.activeElement && main.contains(document.activeElement) ? document.activeElement.id : "";
    const scrolled = main.querySelector(".timeline")?.scrollTop ?? 0;
    if (performance.now() < 20000) next.content.prepend(...main.querySelectorAll("[data-notice]"));
    if (kept && terminal.contains(document.activeElement)) { // a terminal that is moved loses its focus: all else is replaced around it
      const around = (root) => [...root.querySelectorAll(".head, .life, .why, .timeline, .hops")];
      const now = around(next.content);
      for (const [i, old] of around(main).entries()) if (now[i] && now[i].className.split(" ")[0] === old.className.split(" ")[0]) old.replaceWith(now[i]);
      return;
    }
    if (kept) place.replaceWith(terminal);
    main.replaceChildren(next.content);
    if (focused) document.getElementById(focused)?.focus();
    const timeline = main.querySelector(".timeline");
    if (timeline) timeline.scrollTop = scrolled;
    draw();
  };

  // patience is how long, in milliseconds, a page tries to reach Farrier again before it says that it cannot: longer than a browser waits between two tries.
  const patience = 5000;

  // follow shows what the server streams: run, main, offline and ended.
  const follow = (main) => {
    const stream = new EventSource(`${main.dataset.live}?path=${encodeURIComponent(main.dataset.path)}`);
    let run = null, waiting = null, pressed = false;
    const settle = () => {
      if (waiting !== null && !pressed && !busy(main)) { const html = waiting; waiting = null; show(main, html); }
    };
    const offline = (why) => {
      const band = document.getElementById("offline") ?? document.createElement("p");
      band.id = "offline"; band.className = "band warn"; band.setAttribute("role", "status");
      if (band.textContent !== why) band.textContent = why;
      if (!band.isConnected) main.prepend(band);
    };
    stream.addEventListener("run", (e) => { if (run !== null && run !== e.data) location.reload(); run = e.data; });
    stream.addEventListener("main", (e) => { document.getElementById("offline")?.remove(); waiting = e.data; settle(); });
    stream.addEventListener("offline", (e) => offline(`Offline: ${e.data} What is shown may be old.`));
    stream.addEventListener("ended", () => { stream.close(); location.assign(`/dashboard/signin?next=${encodeURIComponent(main.dataset.path)}`); });
    let silent = 0;
    stream.addEventListener("open", () => { clearTimeout(silent); silent = 0; });
    stream.addEventListener("error", () => { // a connection that breaks is made again soon; after a reason, that nobody answers is what follows from it
      silent ||= setTimeout(() => {
        if (!document.getElementById("offline")) offline("Offline: Farrier does not answer. What is shown may be old.");
      }, patience);
    });
    // What is replaced between the press and the release of a button is not clicked.
    main.addEventListener("pointerdown", () => { pressed = true; }, true);
    for (const kind of ["pointerup", "pointercancel", "blur"]) addEventListener(kind, () => { pressed = false; setTimeout(settle, 0); });
    for (const kind of ["focusout", "toggle"]) main.addEventListener(kind, () => setTimeout(settle, 0), true);
    addEventListener("pagehide", () => stream.close());
  };

  addEventListener("DOMContentLoaded", () => {
    const button = document.getElementById("theme");
    if (button) { button.hidden = false; button.addEventListener("click", switchTheme); }
    draw();
    addEventListener("resize", draw);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
    document.querySelector(".bar nav [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" }); // where the bar is wider than the window
    const main = document.getElementById("main");
    if (main?.dataset.live) follow(main);
  });
})();
