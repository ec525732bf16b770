package browser

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// TestThePages: a machine crashes, and what nodefence does about it is on the page while it happens.
// Who may look sees all of it and changes nothing; who may act approves, aborts and asks.
func TestThePages(t *testing.T) {
	browser := chromium(t)
	if _, err := exec.LookPath("npm"); err != nil {
		t.Skip("npm is missing: apt-get install npm")
	}
	w := newWorld(t, 6, 2)
	victim := w.database()
	second := w.others(victim)[0]
	alice, bob := w.opens(browser, "alice"), w.opens(browser, "bob")
	alice.says("main", "6 Ready")
	alice.says(".who", "as alice")
	alice.keyboard()

	address, end := w.serve("carol")
	carol := open(t, browser, address)
	carol.says(".note.gap", "Nodes are not shown as they are now: you may not do that")
	carol.says(".note.gap", "have an administrator bind you a role: nodefence-view")
	carol.sees(`[...document.querySelectorAll("[data-gap]")].every((g) => g.textContent.includes("Since ") && g.querySelector("time"))`)
	carol.says("#said", "Nodes are not shown as they are now")
	w.must(w.Apply(w.ctx, more))
	carol.says("#said", "All is seen again. ")
	carol.says("#said", "6 Ready")
	hidden := w.opens(browser, "alice")
	hidden.says("main", "6 Ready")
	hidden.hides(true)

	w.shows(alice, victim)
	hidden.sees(`document.hidden && document.title.includes("1 Pending")`)
	hidden.hides(false)
	hidden.says(".tile.held .name", victim)
	w.refuses(alice, victim)
	w.fenced(bob, victim)
	w.aborts(bob, second)
	w.asks(bob, victim)
	w.keepsFocus(bob)
	carol.sees(`!document.querySelector(".note.gap")`)
	carol.says(".tile .name", victim)
	end()
	carol.says(".live.lost", "connection lost")
	carol.says("#said", "Connection lost: what you see may be old.")
	carol.sees(`document.title.startsWith("Not live: ")`)
	w.forges(alice)
	w.escapes(alice)
	w.changes(bob)
	w.namesStopper(bob)
	w.clock(browser, second)

	for _, p := range []struct{ name, link string }{{"cluster", "Cluster"}, {"policies", "Policies"}, {"history", "History"}} {
		alice.click(p.link)
		alice.says("h1", p.link)
		alice.accessible(p.name)
	}
	alice.click(victim)
	alice.accessible("node")
	bob.click("Cluster")
	bob.click("Stop all fencing")
	bob.accessible("confirm")
	alice.noScript()
	w.actsWithoutScript(bob, second)
}

// opens opens the page that a person's own command serves.
func (w *world) opens(browser context.Context, as string) *tab {
	w.t.Helper()
	address, _ := w.serve(as)
	return open(w.t, browser, address)
}

// keyboard: the first stop of the keyboard is the link to the content.
func (b *tab) keyboard() {
	b.t.Helper()
	b.do(chromedp.KeyEvent(kb.Tab))
	if got := value[string](b, `document.activeElement.textContent`); got != "Skip to the content" {
		b.t.Errorf("the first stop of the keyboard is %q", got)
	}
	b.do(chromedp.KeyEvent(kb.Enter))
	b.sees(`document.activeElement.id === "main"`)
}

// shows: the page shows a crash, and the fence that waits for approval.
func (w *world) shows(b *tab, node string) {
	w.t.Helper()
	w.shown(b, node, "crash")
	b.says(".tile.held .name", node)
	b.sees(`!document.body.textContent.includes("not counted yet")`)
	b.shot("cluster", 1280)
	b.sees(`document.title.includes("1 Pending")`)
	b.says("#said", "1 Pending")
}

// refuses: without the verb nothing is done, and the page says which role has it.
func (w *world) refuses(b *tab, node string) {
	w.t.Helper()
	b.click(node)
	b.click("Abort")
	b.says("main", "No power was cut: the fence ends")
	b.click("Abort the fence of node " + node)
	b.says("h1", "Nothing was done")
	b.says("main", "nodefence-operate")
	b.click("Go back")
	f, err := w.Fences.Fence(w.ctx, node)
	w.must(err)
	if f.Spec.Requests.Abort != nil {
		w.t.Errorf("alice's abort was written: %+v", f.Spec.Requests.Abort)
	}
}

// fenced: a fence is approved, and its timeline grows on a page that is never loaded again.
func (w *world) fenced(b *tab, node string) {
	w.t.Helper()
	b.click(node)
	b.click("Confirm off")
	b.says(".says", "IF THE MACHINE IS ON, DATA IS LOST")
	b.do(chromedp.SendKeys("#typed", "another"))
	b.click("Confirm that the machine of node " + node)
	b.says(".note", "Nothing was done: what was typed is not the node's name")
	b.click("Cancel")
	bars := value[int](b, `document.querySelectorAll(".bar").length`)
	b.click("Approve")
	b.do(chromedp.SendKeys("#reason", "seen dead on its console"))
	b.click("Approve the fence of node " + node)
	b.says(".note.done", "approved by bob")
	value[bool](b, `window.kept = document.querySelector("#d-entries summary"); kept.parentElement.open = false; kept.focus(); true`)
	for _, what := range []string{"Off sent", "Read 1 of 2: PoweredOff", "Read 2 of 2: PoweredOff", "Release began", "Release done", "On sent"} {
		b.says("table", what)
	}
	if _, err := w.Phase(w.ctx, node, api.Finished); err != nil {
		w.t.Fatal(err)
	}
	b.says("h2", "over: Recovered")
	b.sees(`[...document.querySelectorAll("tr")].some((r) => r.textContent.includes("/db-0") && r.textContent.includes("Gone"))`)
	b.says("ul.plain", "Approve by bob")
	b.shot("node", 1280)
	if grown := value[int](b, `document.querySelectorAll(".bar").length`); grown < bars+4 {
		w.t.Errorf("the timeline has %d bars, and had %d", grown, bars)
	}
	if !value[bool](b, `!!window.kept && !kept.parentElement.open && document.activeElement === kept`) {
		w.t.Error("the page was loaded again, or lost its focus, or what was closed is open")
	}
}

// aborts: with the verb the fence ends, and the page says so by itself.
func (w *world) aborts(b *tab, node string) {
	w.t.Helper()
	b.click("Cluster")
	w.shown(b, node, "crash")
	b.click(node)
	b.click("Abort")
	b.do(chromedp.SendKeys("#reason", "it is being serviced"))
	b.click("Abort the fence of node " + node)
	b.says("h2", "over: Aborted")
	words, err := w.Lab.Words(node)
	w.must(err)
	if strings.Contains(words, "off") {
		w.t.Errorf("the BMC of %s was told %q", node, words)
	}
}

// asks: somebody asks for the fence of a healthy node, which opens one.
func (w *world) asks(b *tab, node string) {
	w.t.Helper()
	b.click("Cluster")
	b.click(node)
	b.click("Ask for a fence")
	b.says(".says", "once somebody has approved it")
	b.says("fieldset", "IfReady: If the node still lives, its pods are asked to leave first")
	b.do(chromedp.SendKeys("#reason", "its fan screams"))
	b.click("Ask for a fence of node " + node)
	b.says(".note.done", "A FenceRequest for node "+node+" was created by bob")
	b.says("h2", "Fence 2 open")
	b.says(".facts", "bob (its fan screams)")
	b.click("Abort")
	b.click("Abort the fence of node " + node)
	b.says("h2", "Fence 2 over: Aborted")
}

// forges: a form without the secret of this server's forms is refused.
func (w *world) forges(b *tab) {
	w.t.Helper()
	b.click("Cluster")
	got := value[int](b, `(() => { const r = new XMLHttpRequest(); r.open("POST", location.pathname + "do/stop/cluster", false); r.setRequestHeader("Content-Type", "application/x-www-form-urlencoded"); r.send("at=2026-01-01T00:00:00Z&secret=guessed&shown="); return r.status })()`)
	if got != 403 {
		w.t.Errorf("a form without the secret: %d", got)
	}
}

// changes: what has changed since the person was shown it is shown again, and not done.
func (w *world) changes(b *tab) {
	w.t.Helper()
	b.click("Policies")
	b.click("Resume")
	b.says(".says", "Fences may begin again under policy nasty")
	w.must(w.ApplyAs(w.ctx, "second", "apiVersion: nodefence.io/v1alpha1\nkind: FencePolicy\nmetadata: {name: nasty}\nspec: {pauseRequests: [upgrade]}\n"))
	b.click("Resume policy nasty")
	b.says(".note", "Nothing was done: what is asked about has changed since it was shown")
	b.says(".says", "Policy nasty stays paused by upgrade")
	b.click("Resume policy nasty")
	b.says("h1", "Nothing was done")
	b.says("main", "nodefence-administer")
	b.click("Go back")
}

// namesStopper checks that the page says who stopped all fences, though nobody gave a name.
func (w *world) namesStopper(b *tab) {
	w.t.Helper()
	const ledger = "apiVersion: nodefence.io/v1alpha1\nkind: FenceLedger\nmetadata: {name: cluster}\nspec: "
	w.must(w.ApplyAs(w.ctx, "robot", ledger+"{stop: true}\n"))
	b.click("Cluster")
	b.says(".note", "stopped by somebody who gave no name (field manager robot)")
	w.must(w.ApplyAs(w.ctx, "robot", ledger+"{stop: false}\n"))
	b.sees(`!document.body.textContent.includes("field manager robot")`)
}

// escapes: what others have written is text on the page, and nothing else.
func (w *world) escapes(b *tab) {
	w.t.Helper()
	nasty := `<img src=x onerror=document.title=1>`
	w.must(w.ApplyAs(w.ctx, "nasty", fmt.Sprintf("apiVersion: nodefence.io/v1alpha1\nkind: FencePolicy\nmetadata: {name: nasty}\nspec: {selector: {matchLabels: {no: such}}, mode: DryRun, precedence: 7, pauseRequests: ['%s']}\n", nasty)))
	b.click("Policies")
	b.says("#policy-nasty", nasty)
	if value[bool](b, `!!document.querySelector("main img")`) {
		w.t.Error("a name became an element")
	}
}

// noScript: without JavaScript the page has all that it shows, and is loaded anew by itself.
func (b *tab) noScript() {
	b.t.Helper()
	b.scripts(false)
	b.do(chromedp.Reload())
	b.says("main", "Every step")
	if !value[bool](b, `!!document.querySelector('noscript meta[http-equiv=refresh], head meta[http-equiv=refresh]')`) {
		b.t.Error("without JavaScript the page stays as it is for ever")
	}
}
