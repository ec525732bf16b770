package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/nodefence/nodefence/test/rig"
)

// after checks all that can be said once the last fault is over.
func (r *run) after(ctx context.Context) error {
	end := time.Now()
	for i := range r.nodes {
		if err := r.well(ctx, name(i), end); err != nil || ctx.Err() != nil {
			return err
		}
	}
	limited, cancel := context.WithTimeout(ctx, r.settle)
	defer cancel()
	if err := podsRun(limited, r.c, r.pods()); err != nil {
		return err
	}
	told, err := r.told()
	if err != nil {
		return err
	}
	errs := []error{r.oneWriter(), r.logs()}
	for node, commands := range told {
		errs = append(errs, r.witness(node, commands).judge())
	}
	g, err := grown(r.steady())
	if err == nil {
		err = g.judge(r.growth)
	}
	return errors.Join(append(errs, err)...)
}

// told is what each BMC was told.
func (r *run) told() (map[string][]rig.Command, error) {
	all := map[string][]rig.Command{}
	for i := range r.nodes {
		commands, err := r.c.Lab.Commands(name(i))
		if err != nil {
			return nil, err
		}
		all[name(i)] = commands
	}
	return all, nil
}

// witness is all that is known of one machine.
func (r *run) witness(node string, told []rig.Command) witness {
	fences := slices.DeleteFunc(r.watch.windows(), func(w window) bool { return w.node != node })
	r.mu.Lock()
	defer r.mu.Unlock()
	return witness{node: node, told: told, fences: fences, spoiled: r.spoiled[node], alive: r.alive[node]}
}

// oneWriter: no volume ever had two writers, and there were some.
func (r *run) oneWriter() error {
	wrote, err := r.c.Lab.OneWriter()
	if err == nil && !wrote {
		err = errors.New("nobody has written to a volume, so that two writers could not be seen")
	}
	return err
}

// steady are the samples that were taken while faults were thrown.
func (r *run) steady() []sample {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(r.samples), func(s sample) bool { return s.at.Sub(r.begun) > r.length })
}

// sample measures both nodefence-local until ctx ends.
func (r *run) sample(ctx context.Context) error {
	for wait(ctx, sampleEvery(r.length)) {
		s, all, err := r.pair.measure(ctx)
		if err != nil && ctx.Err() == nil {
			return err
		}
		if all {
			r.mu.Lock()
			r.samples = append(r.samples, s)
			r.mu.Unlock()
		}
	}
	return nil
}

// crashes are the words by which a program that has a mistake says so.
var crashes = []string{"panic:", "fatal error:", "handler panicked", "WARNING: DATA RACE"}

// logs looks for them in what both nodefence-local have written.
func (r *run) logs() error {
	var errs []error
	for i := range r.pair.all {
		path := r.pair.all[i].log.Name()
		errs = append(errs, eachLine(path, func(line string) error {
			for _, word := range crashes {
				if strings.Contains(line, word) {
					return fmt.Errorf("nodefence-local %d was not to panic, and its log has: %s", i, line)
				}
			}
			return nil
		}))
	}
	return errors.Join(errs...)
}

// eachLine reads a file until a line is an error.
func eachLine(path string, with func(string) error) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		if err := with(lines.Text()); err != nil {
			return err
		}
	}
	return lines.Err()
}

// keep writes what explains a breach beside the logs.
func (r *run) keep() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	told, err1 := r.told()
	fences, err2 := r.c.Fences.Fences(ctx)
	ledger, err3 := r.c.Fences.Ledger(ctx)
	errs := []error{err1, err2, err3}
	for file, value := range map[string]any{"bmc-logs.json": told, "nodefences.json": fences, "ledger.json": ledger} {
		text, err := json.MarshalIndent(value, "", "  ")
		errs = append(errs, err, os.WriteFile(filepath.Join(r.dir, file), text, 0o600))
	}
	return errors.Join(errs...)
}
