package real

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nodefence/nodefence/test/lab/machine/writers"
)

// line is one write to a volume, as program agent makes it.
type line struct {
	at time.Time
	writer
}

// writer is one process that writes.
type writer struct{ node, pod, id string }

// parseLines reads the lines of a volume, in the kernel's order of the writes. Any other text, such as the remains of an
// incomplete write, is left out.
func parseLines(raw []byte) (all []line) {
	for text := range bytes.Lines(raw) {
		f := strings.Fields(string(text))
		if len(f) != 4 || !bytes.HasSuffix(text, []byte("\n")) {
			continue
		}
		if nanos, err := strconv.ParseInt(f[0], 10, 64); err == nil {
			all = append(all, line{time.Unix(0, nanos).UTC(), writer{f[1], f[2], f[3]}})
		}
	}
	return all
}

// replayLines tells a ledger who wrote to a volume: each writer from its first line to its last. The writer of the last line
// of all still writes. machineOf maps nodes to machines.
func replayLines(ledger *writers.Ledger, clock *time.Time, volume string, lines []line, machineOf map[string]string) {
	last := map[writer]int{}
	for i, l := range lines {
		last[l.writer] = i
	}
	stop := map[writer]func(){}
	for i, l := range lines {
		*clock = l.at
		if stop[l.writer] == nil {
			stop[l.writer] = ledger.Start(volume, writers.Owner{Machine: machineOf[l.node], Node: l.node, Pod: l.pod})
		}
		if last[l.writer] == i && i < len(lines)-1 {
			stop[l.writer]()
		}
	}
}

// readVolumes makes the ledger of all writes anew, and writes its journal.
func readVolumes(folder, journal string, machineOf map[string]string) (*writers.Ledger, error) {
	var text bytes.Buffer
	var clock time.Time
	ledger := writers.New(&text, func() time.Time { return clock })
	entries, err := os.ReadDir(folder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read volumes: %w", err)
	}
	slices.SortFunc(entries, func(a, b os.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	for _, entry := range entries {
		if !entry.Type().IsRegular() {
			continue
		}
		raw, err := os.ReadFile(filepath.Join(folder, entry.Name()))
		if err != nil {
			return nil, fmt.Errorf("read volume: %w", err)
		}
		replayLines(ledger, &clock, entry.Name(), parseLines(raw), machineOf)
	}
	next := journal + ".next"
	if err := errors.Join(os.WriteFile(next, text.Bytes(), 0o600), os.Rename(next, journal)); err != nil {
		return nil, fmt.Errorf("write journal of writers: %w", err)
	}
	return ledger, ledger.Err()
}
