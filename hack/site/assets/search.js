"use strict";
// The search: words that all occur in a section, best where they are in its heading. The index is loaded when somebody begins to type.
(() => {
	const root = document.currentScript.dataset.root;
	const input = document.getElementById("site-search");
	const found = document.getElementById("site-found");
	const most = 12;
	let asked = false;
	input.closest("search").hidden = false;

	const load = () => {
		if (asked) return;
		asked = true;
		const script = document.createElement("script");
		script.src = root + "search-index.js";
		script.onload = show;
		document.head.append(script);
	};

	const count = (text, word) => text.toLowerCase().split(word).length - 1;

	// rank is 0 where a word is missing.
	const rank = (section, words) => {
		let sum = 0;
		for (const word of words) {
			const one = 30 * count(section.h || section.t, word) + 5 * count(section.t, word) + Math.min(count(section.x, word), 5);
			if (one === 0) return 0;
			sum += one;
		}
		return sum;
	};

	// excerpt is the text around the first of the words, which are marked.
	const excerpt = (text, words) => {
		const lower = text.toLowerCase();
		const at = Math.max(0, Math.min(...words.map((word) => lower.indexOf(word)).filter((i) => i >= 0), lower.length));
		const begin = at === lower.length ? 0 : Math.max(0, at - 50);
		const span = document.createElement("span");
		let rest = (begin > 0 ? "…" : "") + text.slice(begin, begin + 160);
		while (rest !== "") {
			const hits = words.map((word) => [rest.toLowerCase().indexOf(word), word.length]).filter((hit) => hit[0] >= 0).sort((a, b) => a[0] - b[0]);
			if (hits.length === 0) break;
			const [from, length] = hits[0];
			const mark = document.createElement("mark");
			mark.textContent = rest.slice(from, from + length);
			span.append(rest.slice(0, from), mark);
			rest = rest.slice(from + length);
		}
		span.append(rest);
		return span;
	};

	const entry = (section, words) => {
		const a = document.createElement("a");
		a.href = root + section.u;
		const title = document.createElement("b");
		title.textContent = section.h ? section.t + " › " + section.h : section.t;
		a.append(title, excerpt(section.x, words));
		a.addEventListener("click", () => { found.hidden = true; });
		return a;
	};

	function show() {
		const words = input.value.toLowerCase().split(/\s+/).filter((word) => word !== "");
		found.hidden = words.length === 0 || !window.farrierIndex;
		if (found.hidden) return;
		const hits = window.farrierIndex.map((section) => [rank(section, words), section]).filter((hit) => hit[0] > 0).sort((a, b) => b[0] - a[0]);
		const line = document.createElement("p");
		line.textContent = hits.length === 0 ? "Nothing has all of these words." : hits.length > most ? "The best " + most + " of " + hits.length : hits.length + " found";
		found.replaceChildren(line, ...hits.slice(0, most).map((hit) => entry(hit[1], words)));
	}

	input.addEventListener("focus", load);
	input.addEventListener("input", () => { load(); show(); });
	document.addEventListener("keydown", (event) => {
		const typing = event.target.matches("input, textarea");
		if (event.key === "/" && !typing) {
			event.preventDefault();
			input.focus();
		}
		if (event.key === "Escape") found.hidden = true;
		if (event.key === "Enter" && event.target === input) found.querySelector("a")?.click();
	});
	document.addEventListener("click", (event) => {
		if (!event.target.closest("search")) found.hidden = true;
	});
})();
