package devicetest

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nodefence/nodefence/test/golden"
)

const page = "../MATRIX.md"

// TestMatrix holds the page to the table that the suite itself takes its faults from.
func TestMatrix(t *testing.T) { golden.File(t, page, matrix()) }

const head = `# What each driver is held to

Generated from the table by which the conformance suite runs (devicetest/counterparts.go); do not edit.

Every driver passes one suite, against a counterpart that can misbehave. A counterpart that nodefence's own authors wrote from public documents has their mistakes too: what passes against it may still fail against the real thing.

| driver | counterpart | written by | besides |
|---|---|---|---|
`

const middle = `
## Faults

● is played by the tests that ` + "`go test ./shared/device/...`" + ` runs (with ` + "`ipmi_sim` and pyghmi where they are" + ` installed), and they fail if it is not stood up to; – the counterpart can't play, or has no such thing.

`

const foot = `
` + "`manual`" + ` never knows the power, and has tests of its own. ` + "`set`" + `, several devices of one machine, runs the suite over machines in memory.
`

func matrix() string {
	var b strings.Builder
	b.WriteString(head)
	keys := slices.Sorted(maps.Keys(Counterparts))
	for _, k := range keys {
		c := Counterparts[k]
		by := c.By
		switch {
		case by != "" || c.Driver == "mem":
		case c.Besides == "":
			by = "us: *unverified against anything independent*"
		default:
			by = "us"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", c.name(), c.Is, by, c.Besides)
	}
	b.WriteString(middle)
	fmt.Fprintf(&b, "| fault | %s |\n|---|%s\n", strings.Join(keys, " | "), strings.Repeat(":-:|", len(keys)))
	for _, f := range every() {
		fmt.Fprintf(&b, "| %s |", f)
		for _, k := range keys {
			b.WriteString(map[bool]string{true: " ● |", false: " – |"}[slices.Contains(Counterparts[k].Faults, f)])
		}
		b.WriteString("\n")
	}
	b.WriteString(foot)
	return b.String()
}

func (c Counterpart) name() string {
	if c.Mode == "" {
		return "`" + c.Driver + "`"
	}
	return "`" + c.Driver + "`, " + c.Mode
}

var against = regexp.MustCompile(`Against:\s+"([^"]*)"`)

// TestEveryCounterpartIsPlayed: no row without a test, and no conformance test
// without a row.
func TestEveryCounterpartIsPlayed(t *testing.T) {
	files, err := filepath.Glob("../*/*_test.go")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	played := map[string]bool{}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		found := against.FindAllSubmatch(text, -1)
		if len(found) == 0 && strings.Contains(string(text), "devicetest.Run(") && !strings.Contains(f, "/set/") && !strings.Contains(f, "/devicetest/") { // sets are made of other drivers
			t.Errorf("%s runs the suite against nothing in Counterparts", f)
		}
		for _, m := range found {
			played[string(m[1])] = true
			if d := filepath.Base(filepath.Dir(f)); Counterparts[string(m[1])].Driver != d {
				t.Errorf("%s is against %s, which is not of driver %s", f, m[1], d)
			}
		}
	}
	if d := cmp.Diff(slices.Sorted(maps.Keys(Counterparts)), slices.Sorted(maps.Keys(played))); d != "" {
		t.Error(d)
	}
}
