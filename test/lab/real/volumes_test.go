package real

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/nodefence/nodefence/test/lab/machine/writers"
)

// wrote makes the lines of writers: "a" is the only one on node-0, "b" and "c" are on node-1.
func wrote(order string) []byte {
	var text bytes.Buffer
	for i, id := range order {
		node := "node-1"
		if id == 'a' {
			node = "node-0"
		}
		fmt.Fprintf(&text, "%d %s db-0 %c\n", 1000+i, node, id)
	}
	return text.Bytes()
}

func TestWritersOfAVolume(t *testing.T) {
	machines := map[string]string{"node-0": "machine-0", "node-1": "machine-1"}
	for name, tc := range map[string]struct {
		raw            []byte
		records, clash int
		open           int
	}{
		"nobody":                            {},
		"one":                               {raw: wrote("aaa"), records: 1, open: 1},
		"one after the other":               {raw: wrote("aabb"), records: 2, open: 1},
		"the first writes again":            {raw: wrote("aabab"), records: 2, clash: 1, open: 1},
		"the first writes last":             {raw: wrote("aabba"), records: 2, clash: 1, open: 1},
		"two processes of one machine":      {raw: wrote("bcbc"), records: 2, open: 1},
		"a line that a power loss has cut":  {raw: append(wrote("aabb"), "1004 node-0 db-"...), records: 2, open: 1},
		"a whole line of a cut line's rest": {raw: append(wrote("aa"), "node-1 db-0 b\n"...), records: 1, open: 1},
	} {
		t.Run(name, func(t *testing.T) {
			var clock time.Time
			ledger := writers.New(&bytes.Buffer{}, func() time.Time { return clock })
			replayLines(ledger, &clock, "db", parseLines(tc.raw), machines)
			records, open := ledger.Records(), 0
			for _, r := range records {
				if r.To == nil {
					open++
				}
			}
			if clashes := ledger.Overlaps(); len(records) != tc.records || len(clashes) != tc.clash || open != tc.open {
				t.Errorf("%d writers, want %d; %d overlaps, want %d; %d still write, want %d", len(records), tc.records, len(clashes), tc.clash, open, tc.open)
			}
		})
	}
}
