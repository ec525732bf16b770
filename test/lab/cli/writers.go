package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/nodefence/nodefence/test/lab/simclient"
)

func printWriters(w io.Writer, all simclient.Writers) {
	fmt.Fprintln(w, "VOLUME\tMACHINE\tNODE\tPOD\tFROM\tTO")
	for _, r := range all.Records {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", r.Volume, r.Machine, r.Node, r.Pod, r.From.Format(time.RFC3339Nano), end(r))
	}
	if len(all.Overlaps) == 0 {
		fmt.Fprintln(w, "\nno volume ever had two writers")
		return
	}
	fmt.Fprintf(w, "\nVOLUMES WITH TWO WRITERS: %d\n", len(all.Overlaps))
	for _, overlap := range all.Overlaps {
		raw, err := json.Marshal(overlap)
		if err != nil {
			raw = []byte(err.Error())
		}
		fmt.Fprintf(w, "%s\n", raw)
	}
}

func end(r simclient.Record) string {
	if r.To == nil || r.To.IsZero() {
		return "now"
	}
	return r.To.Format(time.RFC3339Nano)
}
