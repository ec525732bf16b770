package browser

import (
	"bytes"
	"cmp"
	"context"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"maps"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"github.com/nodefence/nodefence/test/rig"
)

// chromium starts a browser that ends with the test.
func chromium(t *testing.T) context.Context {
	t.Helper()
	program, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("chromium is missing: apt-get install chromium")
	}
	ctx, end := chromedp.NewExecAllocator(context.Background(),
		chromedp.ExecPath(program), chromedp.UserDataDir(t.TempDir()), chromedp.NoSandbox, chromedp.Headless, chromedp.DisableGPU, chromedp.NoFirstRun,
		chromedp.NoDefaultBrowserCheck, chromedp.Flag("disable-quic", true), chromedp.Flag("disable-background-networking", true),
		chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-sync", true), chromedp.Flag("hide-scrollbars", true))
	t.Cleanup(end)
	first, end := chromedp.NewContext(ctx)
	t.Cleanup(end)
	if err := chromedp.Do(first); err != nil {
		t.Fatal(err)
	}
	return first
}

// tab is one page of the browser. It fails the test if the page asks another host than 127.0.0.1
// for anything.
type tab struct {
	context.Context
	t *testing.T

	mu        sync.Mutex
	elsewhere []string
	asked     int
}

// open opens a page as another person's browser would: it shares no cookie with others.
func open(t *testing.T, browser context.Context, address string) *tab {
	t.Helper()
	ctx, end := chromedp.NewContext(browser, chromedp.WithNewBrowserContext())
	t.Cleanup(end)
	b := &tab{Context: ctx, t: t}
	if err := chromedp.Do(ctx); err != nil { // the tab lives as long as the context of its first use
		t.Fatal(err)
	}
	b.do(call(network.Enable, network.EnableParams{}))
	if err := chromedp.Listen(ctx, b.heard); err != nil {
		t.Fatal(err)
	}
	b.do(chromedp.EmulateViewport(1280, 800), chromedp.Navigate(address))
	t.Cleanup(func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		if len(b.elsewhere) > 0 || b.asked == 0 {
			t.Errorf("of %d requests these left 127.0.0.1: %v", b.asked, b.elsewhere)
		}
	})
	return b
}

// call is a command of the browser that returns nothing.
func call[P, R any](c cdp.Command[P, R], p P) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, c, p)
		return err
	})
}

func (b *tab) heard(event any) {
	r, ok := event.(*network.EventRequestWillBeSent)
	if !ok {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.asked++
	if u, err := url.Parse(r.Request.URL); err != nil || u.Hostname() != "127.0.0.1" {
		b.elsewhere = append(b.elsewhere, r.Request.URL)
	}
}

// do has the browser do something, within two minutes.
func (b *tab) do(what ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	ctx, end := context.WithTimeout(b.Context, 2*time.Minute)
	defer end()
	if err := chromedp.Do(ctx, what...); err != nil {
		b.t.Fatalf("%v; the page says: %s", err, b.text())
	}
}

// text is all that the page says.
func (b *tab) text() string {
	ctx, end := context.WithTimeout(b.Context, 10*time.Second)
	defer end()
	text, _ := chromedp.Run(ctx, chromedp.Evaluate[string](`document.body.innerText`))
	return text
}

// sees waits until an expression of the page is true. While a page is loaded there is none.
func (b *tab) sees(expression string) {
	b.t.Helper()
	ctx, end := context.WithTimeout(b.Context, 2*time.Minute)
	defer end()
	err := rig.Until(ctx, expression, func() (bool, error) {
		is, err := chromedp.Run(ctx, chromedp.Evaluate[bool](expression))
		return err == nil && is, nil
	})
	if err != nil {
		b.t.Fatalf("%v; the page says: %s", err, b.text())
	}
}

// says waits until a part of the page has these words.
func (b *tab) says(part, words string) {
	b.t.Helper()
	b.sees(`[...document.querySelectorAll(` + quoted(part) + `)].some((e) => e.textContent.replace(/\s+/g, " ").includes(` + quoted(words) + `))`)
}

// value is what an expression of the page comes to.
func value[T any](b *tab, expression string, o ...chromedp.EvaluateOption) T {
	b.t.Helper()
	ctx, end := context.WithTimeout(b.Context, 2*time.Minute)
	defer end()
	out, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression, o...))
	if err != nil {
		b.t.Fatalf("%s: %v", expression[:min(len(expression), 200)], err)
	}
	return out
}

// click follows a link, or presses a button, of these words, and waits for the page that follows.
func (b *tab) click(words string) {
	b.t.Helper()
	b.sees(`window.left = true`)
	b.do(chromedp.Click(`//main//*[self::a or self::button][starts-with(normalize-space(.), "` + words + `")] | //nav//a[.="` + words + `"]`))
	b.sees(`!window.left && document.readyState === "complete" && !!document.querySelector("main")`)
}

func quoted(s string) string { return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"` }

// looks sets the scheme, light or dark, and the width of the window.
func (b *tab) looks(scheme string, width int64) {
	b.t.Helper()
	b.do(chromedp.EmulateViewport(width, 800), call(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}}))
}

// scripts sets whether the page's own scripts run.
func (b *tab) scripts(run bool) {
	b.t.Helper()
	b.do(call(emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: !run}))
}

// shot keeps a picture of the page from its top, where -shots names a folder.
func (b *tab) shot(name string, width int64) {
	b.t.Helper()
	if *shots == "" {
		return
	}
	height := min(1400, value[float64](b, `document.documentElement.scrollHeight`))
	beyond := true
	b.do(chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		r, err := cdp.Call(ctx, t, page.CaptureScreenshot, page.CaptureScreenshotParams{CaptureBeyondViewport: &beyond, Clip: &page.Viewport{Width: float64(width), Height: height, Scale: 1}})
		if err != nil {
			return err
		}
		small, err := fewColours(r.Data)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(*shots, name+".png"), small, 0o644)
	}))
}

// fewColours is the same picture with 256 colours at most: of those that are alike, the most frequent.
func fewColours(picture []byte) ([]byte, error) {
	from, err := png.Decode(bytes.NewReader(picture))
	if err != nil {
		return nil, err
	}
	of, alike, r := map[color.Color]int{}, map[[3]uint32]color.Color{}, from.Bounds()
	for y := r.Min.Y; y < r.Max.Y; y++ {
		for x := r.Min.X; x < r.Max.X; x++ {
			of[from.At(x, y)]++
		}
	}
	for c, n := range of {
		r, g, b, _ := c.RGBA()
		at := [3]uint32{r >> 12, g >> 12, b >> 12}
		if was, ok := alike[at]; !ok || of[was] < n {
			alike[at] = c
		}
	}
	all := slices.SortedFunc(maps.Values(alike), func(a, b color.Color) int { return cmp.Compare(of[b], of[a]) })
	to := image.NewPaletted(r, all[:min(256, len(all))])
	draw.Draw(to, r, from, r.Min, draw.Src)
	var out bytes.Buffer
	err = (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&out, to)
	return out.Bytes(), err
}
