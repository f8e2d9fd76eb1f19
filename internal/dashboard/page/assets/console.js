"use strict";
// The serial console of a server in its page: a terminal, connected with Farrier by a WebSocket (internal/console/frame.go says what goes over it).
(() => {
  const protocol = "console.farrier.dev", longest = 8192, mostTries = 8;
  const bytes = new TextEncoder();

  // carrying has the style elements that make creates carry the nonce by which the page takes them.
  const carrying = (nonce, make) => {
    const create = document.createElement;
    document.createElement = (name, options) => {
      const element = create.call(document, name, options);
      if (name === "style") element.nonce = nonce;
      return element;
    };
    try { make(); } finally { delete document.createElement; }
  };

  const element = (name, kind) => { const e = document.createElement(name); e.className = kind; return e; };

  const open = (box) => {
    const said = element("p", "console-said"), words = element("span", ""), button = element("button", "quiet"), screen = element("div", "console-screen");
    said.setAttribute("role", "status");
    button.type = "button";
    button.hidden = true;
    said.append(words, button);
    box.replaceChildren(said, screen);

    const terminal = new Terminal({ fontSize: 12, scrollback: 5000, theme: { background: "#101214", foreground: "#d9dbde" } });
    const fit = new FitAddon.FitAddon();
    terminal.loadAddon(fit);
    carrying(document.querySelector('meta[name="style-nonce"]')?.content ?? "", () => { terminal.open(screen); fit.fit(); });
    terminal.focus();

    let socket = null, tries = 0, over = false, mine = false, writer = "";
    const say = (text, offer, act) => {
      words.textContent = text;
      button.hidden = !offer;
      button.textContent = offer ?? "";
      button.onclick = act ?? null;
    };
    const control = (message) => { if (socket?.readyState === WebSocket.OPEN) socket.send(JSON.stringify(message)); };
    const sized = () => { if (mine) control({ type: "resize", columns: terminal.cols, rows: terminal.rows }); };
    const again = () => { over = false; tries = 0; connect(); };
    const told = (c) => {
      switch (c.type) {
        case "state":
          if (c.state === "connected") tries = 0;
          else say(c.state === "connecting" ? "Connecting with the BMC…" : `Connecting again: ${c.message ?? ""}`);
          break;
        case "writer":
          [mine, writer] = [Boolean(c.you), c.writer ?? ""];
          if (mine) say("You write.");
          else if (writer) say(`${writer} writes. You read.`, "Write", () => { control({ type: "take" }); terminal.focus(); });
          else say("Nobody writes.");
          sized();
          break;
        case "error":
          over = true;
          say(c.message ?? "The console has ended.", "Open again", again);
      }
    };
    const connect = () => {
      const at = new URL(`/dashboard/console/${encodeURIComponent(box.dataset.server)}`, location.href);
      at.protocol = "wss:";
      say("Connecting…");
      socket = new WebSocket(at, protocol);
      socket.binaryType = "arraybuffer";
      socket.onmessage = (e) => { if (typeof e.data === "string") told(JSON.parse(e.data)); else terminal.write(new Uint8Array(e.data)); };
      socket.onclose = () => {
        mine = false;
        if (over) return;
        if (++tries > mostTries) { say("Farrier does not let this page connect: you may not have the right to the console, or Farrier is away.", "Open again", again); return; }
        say("The connection is lost. Connecting again…");
        setTimeout(connect, Math.min(30000, 500 * 2 ** tries));
      };
    };
    terminal.onData((text) => {
      if (socket?.readyState !== WebSocket.OPEN || (!mine && writer)) return;
      const typed = bytes.encode(text);
      for (let i = 0; i < typed.length; i += longest) socket.send(typed.subarray(i, i + longest));
    });
    terminal.onResize(sized);
    new ResizeObserver(() => fit.fit()).observe(screen);
    connect();
  };

  document.addEventListener("click", (e) => {
    if (e.target instanceof Element && e.target.id === "console-open") open(e.target.closest("#console"));
  });
})();
