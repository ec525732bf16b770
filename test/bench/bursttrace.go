package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"time"
)

// printTrace writes to the file that BURST_TRACE names what the records of all nodes say, in the
// order of time, and each write of the ledger between: for whoever asks where the time goes.
func (o *off) printTrace(ctx context.Context, writes []ledgerWrite) (err error) {
	path := os.Getenv("BURST_TRACE")
	if path == "" {
		return nil
	}
	type line struct {
		at   time.Time
		text string
	}
	var lines []line
	fences, err := o.c.Fences.Fences(ctx)
	if err != nil {
		return err
	}
	for i := range fences {
		for _, h := range fences[i].Status.History {
			lines = append(lines, line{h.At.Time, fmt.Sprintf("%s %s %s", fences[i].Spec.NodeName, h.Phase, h.Reason)})
		}
	}
	for node, at := range o.told {
		lines = append(lines, line{at, node + " BMC Off"})
	}
	for _, w := range writes {
		lines = append(lines, line{w.at, fmt.Sprintf("ledger %d %s", w.status, w.by)})
	}
	slices.SortFunc(lines, func(a, b line) int { return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.text, b.text)) })
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	for _, l := range lines {
		fmt.Fprintf(file, "%9.3f %s\n", l.at.Sub(o.opened).Seconds(), l.text)
	}
	return file.Close()
}
