// The page follows the server: what comes is put into the page without losing the focus, the
// scroll position, an open part or what is typed. Without this script the page is loaded anew every
// five seconds instead.
"use strict";
(() => {
  const live = document.getElementById("live");
  const said = document.getElementById("said");
  const main = document.getElementById("main");
  const { live: address, path, now: loaded } = document.body.dataset;
  const calm = 5000; // milliseconds between two sentences that are read out
  const rarely = 15000; // and between two looks at a page that is not seen; no look lasts longer
  let source, looks, title = document.title, saying = said.textContent, back = "", toSay;
  let lacks = !!document.querySelector("[data-gap]");
  const ahead = (now) => Date.parse(now) - Date.now(); // the API server's clock, of this machine's
  let fast = ahead(loaded);

  // match makes an element like another one, and keeps every part that is still there.
  function match(old, now) {
    for (const { name } of [...old.attributes]) {
      if (!now.hasAttribute(name) && name !== "open") old.removeAttribute(name);
    }
    for (const { name, value } of [...now.attributes]) {
      if (old.getAttribute(name) !== value && name !== "open") old.setAttribute(name, value);
    }
    const parts = [...now.childNodes];
    const stay = new Set(parts.map((p) => p.id).filter(Boolean));
    const named = new Map(); // the parts that stay, by their id
    for (const c of [...old.children]) {
      if (c.id && !stay.has(c.id)) c.remove();
      else if (c.id && !named.has(c.id)) named.set(c.id, c);
    }
    parts.forEach((part, i) => {
      let here = old.childNodes[i];
      const same = part.id && named.get(part.id);
      if (same) {
        // What is moved loses the focus, so what is before it and has no name goes.
        while (here !== same && !here.id) {
          here.remove();
          here = old.childNodes[i];
        }
        if (here !== same) here = old.insertBefore(same, here);
      }
      if (!here) old.append(part);
      else if (here.nodeName !== part.nodeName || (here.id ?? "") !== (part.id ?? "")) {
        if (here.id) old.insertBefore(part, here);
        else here.replaceWith(part);
      } else if (part.nodeType === Node.ELEMENT_NODE) match(here, part);
      else if (here.nodeValue !== part.nodeValue) here.nodeValue = part.nodeValue;
    });
    while (old.childNodes.length > parts.length) old.lastChild.remove();
  }

  // put puts the page that has come in the place of the old one. A row that has moved up keeps the focus.
  function put(now) {
    const at = document.activeElement;
    match(main, document.importNode(now, true));
    if (at !== document.activeElement && at?.isConnected) at.focus({ preventScroll: true });
  }

  // say has a sentence read out, at a calm rate, the last one only, after a word on what is back.
  function say(words, first = "") {
    saying = words;
    if (first) back = first;
    toSay ??= setTimeout(() => {
      toSay = undefined;
      const all = back + saying;
      back = "";
      if (said.textContent !== all) said.textContent = all;
    }, calm);
  }

  function take(event) {
    const news = JSON.parse(event.data);
    fast = ahead(news.now);
    let first = live.classList.contains("lost") ? "Live again. " : "";
    live.textContent = news.asOf ?? "";
    live.classList.remove("lost");
    document.title = title = news.title;
    if (news.main) {
      const now = new DOMParser().parseFromString(news.main, "text/html").querySelector("main");
      if (now) put(now);
      const lack = !!document.querySelector("[data-gap]");
      if (lacks && !lack) first += "All is seen again. ";
      lacks = lack;
    }
    if (first || news.saying !== saying) say(news.saying, first);
  }

  function lost() {
    const over = source?.readyState === EventSource.CLOSED;
    live.textContent = over ? "ended: run kubectl fence ui again" : "connection lost, trying again";
    live.classList.add("lost");
    document.title = "Not live: " + title.replace(/^Not live: /, "");
    say(over ? "The page has ended: run kubectl fence ui again." : "Connection lost: what you see may be old.");
  }

  // follow holds a connection only while the page is seen: a browser has six for one server. The title of a
  // page that is not seen is looked at now and then.
  function follow() {
    source?.close();
    source = undefined;
    clearInterval(looks);
    if (document.hidden) {
      looks = setInterval(look, rarely);
      look();
      return;
    }
    source = new EventSource(address + "?page=" + encodeURIComponent(path));
    source.onmessage = take;
    source.onerror = lost;
  }

  async function look() {
    try {
      const answer = await fetch(address + "?unseen&page=" + encodeURIComponent(path), { signal: AbortSignal.timeout(rarely) });
      if (!answer.ok) throw new Error(answer.status);
      const news = await answer.json();
      if (document.hidden) document.title = title = news.title;
    } catch {
      if (document.hidden) lost();
    }
  }

  // grow makes relative times grow between two messages, by the API server's clock as the server does.
  const units = [[86400, "d"], [3600, "h"], [60, "m"], [1, "s"]];
  function grow() {
    for (const t of document.querySelectorAll("time[datetime]")) {
      const ago = t.nextElementSibling;
      if (!ago?.classList.contains("ago")) continue;
      const s = Math.round((Date.now() + fast - Date.parse(t.dateTime)) / 1000);
      const [n, unit] = units.find(([n]) => Math.abs(s) >= (n === 1 ? 0 : 2 * n));
      const words = Math.floor(Math.abs(s) / n) + unit;
      const text = s < -1 ? "in " + words : words + " ago";
      if (ago.textContent !== text) ago.textContent = text;
    }
  }

  document.addEventListener("visibilitychange", follow);
  setInterval(grow, 1000);
  follow();
})();
