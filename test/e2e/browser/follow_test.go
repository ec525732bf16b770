package browser

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/chromedp/chromedp"
	"k8s.io/client-go/rest"
)

// hides has the page believe that it is, or is not, behind another one.
func (b *tab) hides(is bool) {
	b.t.Helper()
	state, hidden := "visible", "false"
	if is {
		state, hidden = "hidden", "true"
	}
	value[bool](b, `Object.defineProperty(document, "hidden", {configurable: true, get: () => `+hidden+`}); Object.defineProperty(document, "visibilityState", {configurable: true, get: () => "`+state+`"}); document.dispatchEvent(new Event("visibilitychange")); true`)
}

// keepsFocus: what is before the tile or the row that has the focus comes and goes, and the focus stays on
// what it was on. The row is that of a node that is not well.
func (w *world) keepsFocus(b *tab) {
	w.t.Helper()
	b.click("Cluster")
	const many = `[...document.querySelectorAll(".tiles")].map((l) => [...l.querySelectorAll(".tile.ready")].map((t) => t.id.slice("tile-".length))).find((l) => l.length > 1)`
	b.sees(`!!` + many)
	well := value[[]string](b, many)
	focused, moves := well[0], well[len(well)-1]
	focus := func(part string) {
		w.t.Helper()
		if !value[bool](b, `window.kept = document.querySelector("`+part+`"); kept.focus(); document.activeElement === kept`) {
			w.t.Fatalf("%s takes no focus", part)
		}
	}
	stays := func(on, when string) {
		w.t.Helper()
		if !value[bool](b, `document.activeElement === kept && kept.isConnected && kept.textContent.includes("`+on+`")`) {
			w.t.Errorf("the focus is not on node %s when %s: it is on %q", on, when, value[string](b, `document.activeElement.outerHTML.slice(0, 200)`))
		}
	}
	focus("#tile-" + focused + " a")
	w.shown(b, moves, "partition")
	b.sees(`document.getElementById("tile-` + moves + `").compareDocumentPosition(document.getElementById("tile-` + focused + `")) === Node.DOCUMENT_POSITION_FOLLOWING`)
	stays(focused, "a tile moves before it")
	w.shown(b, focused, "partition")
	b.sees(`document.getElementById("row-` + focused + `").compareDocumentPosition(document.getElementById("row-` + moves + `")) === Node.DOCUMENT_POSITION_FOLLOWING`)
	focus("#row-" + moves + " a")
	w.must(w.Lab.Node(focused, "heal"))
	b.sees(`!document.getElementById("row-` + focused + `")`)
	stays(moves, "the row before it goes")
	w.must(w.Lab.Node(moves, "heal"))
	b.sees(`!document.getElementById("row-` + moves + `")`)
}

// actsWithoutScript: a form is a form, and what it did is said, without any script.
func (w *world) actsWithoutScript(b *tab, node string) {
	w.t.Helper()
	b.click("Cluster")
	b.click(node)
	b.scripts(false)
	b.do(chromedp.Navigate(value[string](b, `[...document.querySelectorAll("main a.verb")].find((a) => a.textContent.includes("Ask for a fence")).href`)))
	b.says(".says", "once somebody has approved it")
	b.do(chromedp.SendKeys("#reason", "its disk clicks"))
	b.click("Ask for a fence of node " + node)
	b.says(".note.done", "A FenceRequest for node "+node+" was created by bob")
	b.says(".facts", "bob (its disk clicks)") // by a reload of the page's own
	b.scripts(true)
}

// clock: relative times grow by the API server's clock, by which the server tells them, also where that of the
// browser's machine is three hours slow. When the API server is lost, and then the server, the title says so.
func (w *world) clock(browser context.Context, node string) {
	w.t.Helper()
	api, lost := w.ahead(3 * time.Hour)
	address, end := w.serve("alice", "--server", api.URL)
	b := open(w.t, browser, address)
	b.says(".tile .name", node)
	b.click(node)
	b.says(".facts .ago", "3h")
	value[bool](b, `(() => {
		const copy = document.createElement("p");
		copy.id = "copy";
		copy.append(document.querySelector(".facts time").cloneNode(true), document.createElement("span"));
		copy.lastChild.className = "ago";
		document.body.append(copy);
		return true;
	})()`)
	b.sees(`document.querySelector("#copy .ago").textContent !== ""`)
	if got := value[string](b, `document.querySelector("#copy .ago").textContent`); got != "3h ago" {
		w.t.Errorf("by the page's script it was %s, and not 3h ago", got)
	}
	lost.Store(true)
	api.CloseClientConnections()
	b.says("#live", "not all is live: see below")
	b.sees(`document.title.startsWith("Not live: ` + node + `")`)
	end()
	b.says(".live.lost", "connection lost")
	b.sees(`document.title.startsWith("Not live: ` + node + `")`)
}

// ahead passes requests on to the API server, as one whose clock is so far ahead, until it is lost.
func (w *world) ahead(by time.Duration) (*httptest.Server, *atomic.Bool) {
	w.t.Helper()
	to, err := url.Parse(w.Config.Host)
	w.must(err)
	through, err := rest.TransportFor(w.Config)
	w.must(err)
	lost, proxy := &atomic.Bool{}, &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to) }, Transport: through, FlushInterval: -1,
		ModifyResponse: func(r *http.Response) error {
			at, err := http.ParseTime(r.Header.Get("Date"))
			r.Header.Set("Date", at.Add(by).Format(http.TimeFormat))
			return err
		},
	}
	s := httptest.NewServer(http.HandlerFunc(func(r http.ResponseWriter, q *http.Request) {
		if lost.Load() {
			http.Error(r, "the API server is lost", http.StatusServiceUnavailable)
			return
		}
		proxy.ServeHTTP(r, q)
	}))
	w.t.Cleanup(s.Close)
	return s, lost
}
