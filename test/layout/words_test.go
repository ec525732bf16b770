package layout

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// bookish are words that a reader of this field has to stop at.
var bookish = regexp.MustCompile(`(?i)\b(` +
	`whosoever|whosever|whomsoever|hitherto|thereof|thereby|therein|thereafter|therewith|` +
	`hereby|herewith|heretofore|whence|thence|thither|forthwith|aforesaid|withal|notwithstanding|` +
	`wherein|whereupon|whereby|wherefore|whereof|betwixt|lest|amidst|amongst|whilst|` +
	`stead|for want of|beginning anew|every word with|walk aside)\b`)

// TestPlainWords: comments, logs, errors and pages are in plain English.
func TestPlainWords(t *testing.T) {
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == ".git" || d.Name() == "bin" || d.Name() == "dist") {
			return filepath.SkipDir
		}
		if ext := filepath.Ext(path); ext != ".go" && ext != ".md" || filepath.Base(path) == "words_test.go" {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, w := range bookish.FindAllString(string(text), -1) {
			t.Errorf("%s says %q: say it plainly", path, w)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
