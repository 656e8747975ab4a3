"use strict";
// Pan, zoom and read the drawings; choose a flow; try words. Text goes into the page as text only, never as markup.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const all = (selector, inside = document) => Array.from(inside.querySelectorAll(selector));
  const numbers = (element, name) => (element.dataset[name] || "").split(" ").filter(Boolean).map(Number);

  function make(name, className, ...children) {
    const element = document.createElement(name);
    if (className) element.className = className;
    element.append(...children);
    return element;
  }

  // ---- words, as the command line reads them -------------------------------------------------------------------

  // Exactly the characters that Python's str.isspace knows.
  const SPACE = new Set("\t\n\v\f\r\x1c\x1d\x1e\x1f \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007" +
    "\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000");
  const ESCAPES = { n: "\n", t: "\t", r: "\r", "'": "'", '"': '"', "\\": "\\" };

  class WordError extends Error {
    constructor(problem, column) {
      super(column ? `${problem} (column ${column})` : problem);
    }
  }

  const column = (text, at) => Array.from(text.slice(0, at)).length + 1;

  function skipSpace(text, at) {
    while (at < text.length && SPACE.has(text[at])) at += 1;
    return at;
  }

  function readQuoted(text, start) {
    const quote = text[start];
    let out = "";
    let at = start + 1;
    while (at < text.length) {
      if (text[at] === quote) return [out, at + 1];
      if (text[at] !== "\\") {
        out += text[at];
        at += 1;
        continue;
      }
      const escape = text[at + 1];
      if (escape === undefined) break;
      const code = /^\\u\{([0-9a-fA-F]{1,6})\}/.exec(text.slice(at, at + 10));
      if (Object.hasOwn(ESCAPES, escape)) {
        out += ESCAPES[escape];
        at += 2;
      } else if (code) {
        const value = parseInt(code[1], 16);
        if (value > 0x10ffff) throw new WordError(`no character has the code ${code[1]}`, column(text, at));
        out += String.fromCodePoint(value);
        at += code[0].length;
      } else {
        throw new WordError(`unknown escape \\${escape}; known are \\' \\" \\\\ \\n \\t \\r \\u{…}`, column(text, at));
      }
    }
    throw new WordError(`quote ${quote} is not closed`, column(text, start));
  }

  function parseWord(text) {
    const letters = [];
    let at = skipSpace(text, 0);
    let bare = 0;
    while (at < text.length) {
      let letter;
      let end;
      if (text[at] === "'" || text[at] === '"') {
        [letter, end] = readQuoted(text, at);
        if (end < text.length && !SPACE.has(text[end])) {
          throw new WordError("a separator is missing after the closing quote", column(text, end));
        }
      } else {
        end = at;
        while (end < text.length && !SPACE.has(text[end])) end += 1;
        letter = text.slice(at, end);
        if (letter === "ε") bare = bare || column(text, at);
      }
      letters.push(letter);
      at = skipSpace(text, end);
      if (bare && (letters.length > 1 || at < text.length)) {
        throw new WordError("ε is the empty word and cannot stand among letters", bare);
      }
    }
    return bare ? [] : letters;
  }

  const textOf = (code) => data.texts[code] ?? data.letters[code];
  const codeOf = new Map(data.letters.map((letter, code) => [letter, code]));

  function encode(letters) {
    return letters.map((letter, position) => {
      const code = codeOf.get(letter);
      if (code !== undefined) return code;
      const apart = Array.from(letter);
      const hint = apart.length > 1 && apart.every((one) => codeOf.has(one))
        ? `letters are separated by spaces: write ${apart.join(" ")}`
        : `the alphabet has ${data.letters.length}: ${data.letters.slice(0, 8).map((_, code) => textOf(code)).join(", ")}`
          + (data.letters.length > 8 ? ", …" : "");
      throw new WordError(`unknown letter ${JSON.stringify(letter)} (letter ${position + 1} of the word); ${hint}`);
    });
  }

  // ---- automata --------------------------------------------------------------------------------------------------

  const stateName = (automaton, state) => (automaton.names ? automaton.names[state] : String(state));
  const accepts = (automaton, state) => automaton.accepting[state] === "1";

  function run(automaton, codes) {
    const states = [automaton.initial];
    for (const code of codes) states.push(automaton.table[states[states.length - 1] * data.letters.length + code]);
    return states;
  }

  // ---- drawings: pan, zoom, read ---------------------------------------------------------------------------------

  class Stage {
    constructor(element) {
      this.key = element.dataset.automaton;
      this.canvas = element.querySelector(".canvas");
      this.svg = element.querySelector("svg");
      this.reading = element.querySelector(".reading");
      this.whole = this.svg.getAttribute("viewBox").split(" ").map(Number);
      this.fit(0.7);
      const actions = { in: () => this.zoom(0.8), out: () => this.zoom(1.25), fit: () => this.fit() };
      for (const button of all("[data-zoom]", element)) {
        button.addEventListener("click", actions[button.dataset.zoom]);
      }
      this.canvas.addEventListener("keydown", (event) => this.key_(event));
      this.canvas.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
      this.drag();
      for (const part of all(".state, .edge", this.svg)) {
        part.addEventListener("pointerenter", () => this.read(part, true));
        part.addEventListener("pointerleave", () => this.read(part, false));
        part.addEventListener("click", () => this.read(part, true));
      }
    }

    // A small drawing is not blown up: at most 1.4 times its natural size. A large one has more room, and is first shown
    // from its start, large enough to read, where that is not all of it; the button shows all.
    fit(least = 0) {
      const [x, y, width, height] = this.whole;
      if (height * 1.4 < 220) this.canvas.classList.add("low");
      if (height * least > this.canvas.clientHeight) this.canvas.classList.add("tall");
      const room = [this.canvas.clientWidth, this.canvas.clientHeight];
      const scale = Math.max(least, Math.min(1.4, room[0] / width, room[1] / height));
      const shown = [room[0] / scale, room[1] / scale];
      const start = this.svg.querySelector(".start path");
      const over = height - shown[1];
      const part = least > 0 && (over > 1 || width > shown[0] + 1);
      if (part) this.reading.textContent = "A part of it is shown: drag to move it, Fit shows all. " + this.reading.textContent;
      const top = over > 0 && start ? Math.min(over, Math.max(0, start.getBBox().y - y - shown[1] / 2)) : over / 2;
      this.view = [x - Math.max(0, shown[0] - width) / 2, y + top, ...shown];
      this.show();
    }

    show() {
      this.svg.setAttribute("viewBox", this.view.map((value) => value.toFixed(2)).join(" "));
    }

    zoom(factor, at) {
      const [x, y, width, height] = this.view;
      const limit = Math.max(this.whole[2], this.whole[3]);
      if (width * factor > 4 * limit || width * factor < 60) return;
      const [px, py] = at || [x + width / 2, y + height / 2];
      this.view = [px - (px - x) * factor, py - (py - y) * factor, width * factor, height * factor];
      this.show();
    }

    move(dx, dy) {
      this.view[0] += dx;
      this.view[1] += dy;
      this.show();
    }

    point(event) {
      const box = this.canvas.getBoundingClientRect();
      const [x, y, width, height] = this.view;
      return [x + ((event.clientX - box.left) / box.width) * width, y + ((event.clientY - box.top) / box.height) * height];
    }

    key_(event) {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const step = this.view[2] / 10;
      const actions = {
        "+": () => this.zoom(0.8), "=": () => this.zoom(0.8), "-": () => this.zoom(1.25), 0: () => this.fit(),
        ArrowLeft: () => this.move(-step, 0), ArrowRight: () => this.move(step, 0),
        ArrowUp: () => this.move(0, -step), ArrowDown: () => this.move(0, step),
      };
      if (!Object.hasOwn(actions, event.key)) return;
      actions[event.key]();
      event.preventDefault();
    }

    // The wheel scrolls the page, as anywhere; with Ctrl it zooms the drawing.
    wheel(event) {
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      this.zoom(event.deltaY < 0 ? 0.87 : 1.15, this.point(event));
    }

    drag() {
      let from = null;
      this.canvas.addEventListener("pointerdown", (event) => {
        if (event.button === 0) from = [event.clientX, event.clientY];
      });
      this.canvas.addEventListener("pointermove", (event) => {
        if (!from || !(event.buttons & 1)) return;
        const scale = this.view[2] / this.canvas.getBoundingClientRect().width;
        this.move((from[0] - event.clientX) * scale, (from[1] - event.clientY) * scale);
        from = [event.clientX, event.clientY];
      });
      for (const end of ["pointerup", "pointercancel", "pointerleave"]) {
        this.canvas.addEventListener(end, () => { from = null; });
      }
    }

    read(part, on) {
      part.classList.toggle("near", on);
      if (part.dataset.state !== undefined) {
        for (const edge of all(`[data-from="${part.dataset.state}"]`, this.svg)) edge.classList.toggle("near", on);
      }
      if (on) this.reading.textContent = part.dataset.state === undefined ? part.querySelector("title").textContent
        : this.about(part);
    }

    about(part) {
      const goes = all(`[data-from="${part.dataset.state}"]`, this.svg);
      const shown = goes.slice(0, 12).map((edge) => edge.querySelector("title").textContent);
      const more = goes.length > 12 ? `; and ${goes.length - 12} more arrows` : "";
      return `${part.querySelector("title").textContent}. ${shown.join("; ")}${more}`;
    }

    // Show where a tried word is: the state reached, and the transition that led there.
    mark(state, before, code) {
      for (const part of all(".now", this.svg)) part.classList.remove("now");
      if (state === null) return;
      const node = this.svg.querySelector(`[data-state="${state}"]`);
      if (node) node.classList.add("now");
      if (before === null) return;
      const between = all(`[data-from="${before}"][data-to="${state}"]`, this.svg);
      const listed = between.filter((edge) => numbers(edge, "letters").includes(code));
      const taken = listed.length ? listed : between.filter((edge) => edge.dataset.letters === undefined);
      for (const edge of taken) edge.classList.add("now");
    }
  }

  const stages = new Map(all(".stage").map((element) => [element.dataset.automaton, new Stage(element)]));
  window.addEventListener("beforeprint", () => { for (const stage of stages.values()) stage.fit(); });

  // ---- flows -----------------------------------------------------------------------------------------------------

  function chooseFlow(flow) {
    for (const panel of all(".flow-panel")) panel.hidden = Number(panel.dataset.flow) !== flow;
    for (const part of all(".automaton [data-flows]")) {
      part.classList.toggle("in-loop", numbers(part, "flows").includes(flow));
    }
    for (const cell of all("#counterexample .trace [data-at]")) {
      cell.classList.toggle("cut", Number(cell.dataset.at) === data.cuts[flow] + 1);
    }
  }

  for (const choice of all("input[name=flow]")) {
    choice.addEventListener("change", () => chooseFlow(Number(choice.value)));
  }
  if (data.cuts.length) chooseFlow(Number((document.querySelector("input[name=flow]:checked") || { value: 0 }).value));

  // ---- try a word ------------------------------------------------------------------------------------------------

  const MOST_LETTERS = 2000;
  const form = document.getElementById("try-form");
  const machines = Object.entries(data.automata).filter(([, automaton]) => automaton);
  const called = { spec: "Specification A", hypothesis: "Hypothesis H", errors: "Mistakes E" };
  let tried = null;

  function sign(accepted) {
    const shown = make("span", accepted ? "yes" : "no", make("span", "", accepted ? "✓" : "✗"));
    shown.firstChild.setAttribute("aria-hidden", "true");
    shown.append(make("span", "hidden", accepted ? "accepts" : "rejects"));
    return shown;
  }

  function traceRow(heading, cells) {
    const row = make("tr", "", make("th", "", heading));
    row.firstChild.setAttribute("scope", "row");
    cells.forEach((content, at) => {
      const cell = make("td", "", ...content);
      cell.dataset.at = at;
      row.append(cell);
    });
    return row;
  }

  function showTrace() {
    const rows = [traceRow("letter", [[make("span", "empty", "ε")], ...tried.codes.map((code) => [make("bdi", "letter", textOf(code))])])];
    for (const [key, automaton] of machines) {
      rows.push(traceRow(called[key], tried.runs[key].map((state) =>
        [make("span", "called", stateName(automaton, state)), sign(accepts(automaton, state))])));
    }
    const table = make("table", "trace", make("tbody", "", ...rows));
    const place = document.getElementById("try-trace");
    place.replaceChildren(table);
    place.hidden = false;
  }

  function goTo(at) {
    tried.at = Math.max(0, Math.min(tried.codes.length, at));
    for (const cell of all("#try-trace [data-at]")) {
      const now = Number(cell.dataset.at) === tried.at;
      cell.classList.toggle("now", now);
      if (now && cell.parentNode === cell.closest("tbody").firstChild) {
        const place = document.getElementById("try-trace");
        place.scrollLeft = Math.max(0, cell.offsetLeft - place.clientWidth / 2);
      }
    }
    for (const [key] of machines) {
      const states = tried.runs[key];
      const stage = stages.get(key);
      if (stage) stage.mark(states[tried.at], tried.at ? states[tried.at - 1] : null, tried.codes[tried.at - 1]);
    }
    document.getElementById("try-where").textContent = `after ${tried.at} of ${tried.codes.length} letters`;
    const buttons = Object.fromEntries(all("#try-steps button").map((button) => [button.dataset.step, button]));
    buttons.first.disabled = buttons.back.disabled = tried.at === 0;
    buttons.last.disabled = buttons.next.disabled = tried.at === tried.codes.length;
  }

  function answer() {
    const verb = (yes) => (yes ? "accepts" : "rejects");
    const answers = machines.map(([key, automaton]) => {
      const states = tried.runs[key];
      return `${called[key]} ${verb(accepts(automaton, states[states.length - 1]))} this word.`;
    });
    return answers.join(" ");
  }

  function tryWord(text) {
    const place = document.getElementById("try-answer");
    const parts = ["try-steps", "try-trace"].map((id) => document.getElementById(id));
    place.classList.remove("wrong");
    try {
      const codes = encode(parseWord(text));
      if (codes.length > MOST_LETTERS) throw new WordError(`the word has ${codes.length} letters; at most ${MOST_LETTERS} can be shown`);
      tried = { codes, at: 0, runs: Object.fromEntries(machines.map(([key, automaton]) => [key, run(automaton, codes)])) };
    } catch (error) {
      if (!(error instanceof WordError)) throw error;
      tried = null;
      for (const part of parts) part.hidden = true;
      for (const stage of stages.values()) stage.mark(null);
      place.classList.add("wrong");
      place.textContent = error.message;
      return;
    }
    for (const part of parts) part.hidden = false;
    place.textContent = answer();
    showTrace();
    goTo(tried.codes.length);
  }

  if (form) {
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      tryWord(document.getElementById("word").value);
    });
    const moves = { first: () => 0, back: () => tried.at - 1, next: () => tried.at + 1, last: () => tried.codes.length };
    for (const button of all("#try-steps button")) {
      button.addEventListener("click", () => { if (tried) goTo(moves[button.dataset.step]()); });
    }
  }

  // ---- copy ------------------------------------------------------------------------------------------------------

  for (const button of all(".copy")) {
    button.addEventListener("click", async () => {
      const code = button.parentNode.querySelector("code");
      try {
        await navigator.clipboard.writeText(code.textContent);
        button.textContent = "Copied";
      } catch {
        getSelection().selectAllChildren(code);
        button.textContent = "Selected";
      }
      setTimeout(() => { button.textContent = "Copy"; }, 2000);
    });
  }

  // For tests, and for people at the console.
  window.rnncheckReport = { parseWord, run, data };
})();
