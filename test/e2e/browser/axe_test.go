package browser

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha512"
	"encoding/base64"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"

	"github.com/chromedp/chromedp"
)

// The version of axe-core, and the sum by which npm knows its package.
const (
	axeVersion = "4.14.1"
	axeSum     = "FHfa+lmNjQZfJz1q8wKqIDwC6DExcHt/pkjNQb09a3NPjCKg2rhu5qb2S4r76ASyFNNtuFooJpZe37OgudVGtQ=="
)

// axe is the script of axe-core, from the user's cache, or from npm the first time.
var axe = sync.OnceValues(func() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, "nodefence", "axe-core")
	file := filepath.Join(dir, "axe-core-"+axeVersion+".tgz")
	packed, err := os.ReadFile(file)
	if err != nil {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return "", err
		}
		if out, err := exec.Command("npm", "pack", "--silent", "--pack-destination", dir, "axe-core@"+axeVersion).CombinedOutput(); err != nil {
			return "", fmt.Errorf("npm pack axe-core: %w: %s", err, out)
		}
		if packed, err = os.ReadFile(file); err != nil {
			return "", err
		}
	}
	if sum := sha512.Sum512(packed); base64.StdEncoding.EncodeToString(sum[:]) != axeSum {
		return "", fmt.Errorf("%s is not axe-core %s as it was when this test was written: delete it, and have it fetched again", file, axeVersion)
	}
	return unpacked(packed, "package/axe.min.js")
})

// unpacked is one file of a package.
func unpacked(packed []byte, name string) (string, error) {
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return "", err
	}
	for files := tar.NewReader(z); ; {
		h, err := files.Next()
		if err != nil {
			return "", fmt.Errorf("look for %s in the package: %w", name, err)
		}
		if h.Name == name {
			text, err := io.ReadAll(files)
			return string(text), err
		}
	}
}

// accessible checks the page with axe-core, in light and dark, wide and at 400 % of 1280 pixels, and
// that it then needs no scrolling sideways.
func (b *tab) accessible(name string) {
	b.t.Helper()
	script, err := axe()
	if err != nil {
		b.t.Fatal(err)
	}
	for _, scheme := range []string{"light", "dark"} {
		for _, width := range []int64{1280, 320} {
			b.looks(scheme, width)
			value[bool](b, script+"; true")
			found := value[[]string](b, `axe.run(document).then((r) => r.violations.map((v) => v.id + ": " + v.help + ": " + v.nodes.map((n) => n.html + " " + n.any.map((a) => a.message).join()).join(" | ")))`, chromedp.EvalAwaitPromise)
			if len(found) > 0 {
				b.t.Errorf("%s, %s, %d pixels wide:\n%s", name, scheme, width, strings.Join(found, "\n"))
			}
			if is := value[int64](b, `document.documentElement.scrollWidth`); is > width {
				b.t.Errorf("%s is %d pixels wide where there are %d", name, is, width)
			}
			b.shot(fmt.Sprintf("%s-%s-%d", name, scheme, width), width)
		}
	}
	b.looks("light", 1280)
}
