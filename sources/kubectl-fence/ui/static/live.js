// The page follows the server: what comes is put into the page without losing the focus, the
// scroll position, an open part or what is typed. Without this script the page is loaded anew every
// five seconds instead.
"use strict";
(() => {
  const live = document.getElementById("live");
  const said = document.getElementById("said");
  const { live: address, path } = document.body.dataset;
  const calm = 5000; // milliseconds between two sentences that are read out
  let source, saying = said.textContent, toSay;

  // match makes an element like another one, and keeps every part that is still there.
  function match(old, now) {
    for (const { name } of [...old.attributes]) {
      if (!now.hasAttribute(name) && name !== "open") old.removeAttribute(name);
    }
    for (const { name, value } of [...now.attributes]) {
      if (old.getAttribute(name) !== value && name !== "open") old.setAttribute(name, value);
    }
    const parts = [...now.childNodes];
    parts.forEach((part, i) => {
      let here = old.childNodes[i];
      if (part.id) {
        const same = [...old.children].find((c) => c.id === part.id);
        if (same && same !== here) here = old.insertBefore(same, here ?? null);
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

  // say has a sentence read out, at a calm rate, the last one only.
  function say(words) {
    saying = words;
    toSay ??= setTimeout(() => {
      toSay = undefined;
      if (said.textContent !== saying) said.textContent = saying;
    }, calm);
  }

  function take(event) {
    const news = JSON.parse(event.data);
    live.textContent = news.asOf ?? "";
    live.classList.remove("lost");
    document.title = news.title;
    if (news.saying !== saying) say(news.saying);
    if (news.main) {
      const now = new DOMParser().parseFromString(news.main, "text/html").querySelector("main");
      if (now) match(document.getElementById("main"), document.importNode(now, true));
    }
  }

  function lost() {
    live.textContent = source.readyState === EventSource.CLOSED
      ? "ended: run kubectl fence ui again" : "connection lost, trying again";
    live.classList.add("lost");
  }

  // follow holds a connection only while the page is seen: a browser has six for one server.
  function follow() {
    source?.close();
    if (document.hidden) return;
    source = new EventSource(address + "?page=" + encodeURIComponent(path));
    source.onmessage = take;
    source.onerror = lost;
  }

  // grow makes relative times grow between two messages.
  const units = [[86400, "d"], [3600, "h"], [60, "m"], [1, "s"]];
  function grow() {
    for (const t of document.querySelectorAll("time[datetime]")) {
      const ago = t.nextElementSibling;
      if (!ago?.classList.contains("ago")) continue;
      const s = Math.round((Date.now() - Date.parse(t.dateTime)) / 1000);
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
