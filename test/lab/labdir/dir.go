package labdir

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/nodefence/nodefence/test/lab/process"
)

// ErrNotFound means that no lab has the name.
var ErrNotFound = errors.New("no such lab")

// ErrRunning means that the name is taken.
var ErrRunning = errors.New("already running")

// Dir is the folder of one lab.
type Dir struct{ Path string }

// Record is what the folder says about the lab.
type Record struct {
	Name    string    `json:"name"`
	Created time.Time `json:"created"`
	// Ready is false while Starter starts or restores the lab, and if it died while doing so.
	Ready      bool       `json:"ready"`
	Starter    process.ID `json:"starter"`
	Server     string     `json:"server,omitempty"`
	Kubeconfig string     `json:"kubeconfig,omitempty"`
	Nodes      int        `json:"nodes"`
	// Real means that the machines are real nodes.
	Real bool `json:"real,omitempty"`
	// Processes are in the order in which they were started.
	Processes []Process `json:"processes,omitempty"`
}

// Process is one long-running part of a lab.
type Process struct {
	Name string     `json:"name"`
	ID   process.ID `json:"id"`
	Log  string     `json:"log"`
}

// Set records a process, in the place of an earlier one of its name.
func (r *Record) Set(p Process) {
	if i := slices.IndexFunc(r.Processes, func(old Process) bool { return old.Name == p.Name }); i >= 0 {
		r.Processes[i] = p
		return
	}
	r.Processes = append(r.Processes, p)
}

// InUse tells whether anything of the lab still runs, or is still being started.
func (r Record) InUse() bool {
	if !r.Ready && r.Starter.Alive() {
		return true
	}
	for _, p := range r.Processes {
		if p.ID.Alive() {
			return true
		}
	}
	return false
}

// File returns the path of a file in the folder.
func (d Dir) File(name string) string { return filepath.Join(d.Path, name) }

// Socket is where the simulated machines take commands.
func (d Dir) Socket() string { return d.File("machines.sock") }

// Claim makes the folder of a new lab and records the caller as its starter. It removes what a
// dead lab of that name has left, after clean has removed what is outside of the folder.
func Claim(ctx context.Context, name string, clean func(Dir) error) (Dir, Record, error) {
	dir, err := open(name)
	if err != nil {
		return Dir{}, Record{}, err
	}
	unlock, err := lock(ctx)
	if err != nil {
		return Dir{}, Record{}, err
	}
	defer unlock()

	switch old, err := dir.Load(); {
	case errors.Is(err, ErrNotFound):
	case err != nil:
		return Dir{}, Record{}, err
	case old.InUse():
		return Dir{}, Record{}, running(name)
	}
	if err := clean(dir); err != nil {
		return Dir{}, Record{}, fmt.Errorf("clean up after a dead lab: %w", err)
	}
	if err := dir.Remove(); err != nil {
		return Dir{}, Record{}, err
	}
	starter, err := process.Identify(os.Getpid())
	if err != nil {
		return Dir{}, Record{}, err
	}
	if err := os.Mkdir(dir.Path, 0o700); err != nil {
		return Dir{}, Record{}, fmt.Errorf("make lab folder: %w", err)
	}
	record := Record{Name: name, Created: time.Now().UTC().Truncate(time.Second), Starter: starter}
	return dir, record, dir.Save(record)
}

// CheckFree refuses a name that Claim would refuse, but claims nothing.
func CheckFree(name string) error {
	_, record, err := Open(name)
	switch {
	case errors.Is(err, ErrNotFound):
		return nil
	case err == nil && record.InUse():
		return running(name)
	}
	return err
}

func running(name string) error {
	return fmt.Errorf("lab %q is %w; end it with \"down --name %s\" or choose another name", name, ErrRunning, name)
}

// Open returns the folder and record of a lab that was started before.
func Open(name string) (Dir, Record, error) {
	dir, err := open(name)
	if err != nil {
		return Dir{}, Record{}, err
	}
	record, err := dir.Load()
	if errors.Is(err, ErrNotFound) {
		return Dir{}, Record{}, fmt.Errorf("%w: %q; see \"list\", or start it with \"up --name %s\"", ErrNotFound, name, name)
	}
	return dir, record, err
}

// Names lists the labs of this user, dead ones included.
func Names() ([]string, error) {
	root, err := Root()
	if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(root)
	if err != nil {
		return nil, fmt.Errorf("list labs: %w", err)
	}
	names := make([]string, 0, len(entries))
	for _, entry := range entries {
		if entry.IsDir() && validName.MatchString(entry.Name()) {
			names = append(names, entry.Name())
		}
	}
	return names, nil
}

// Load reads the record.
func (d Dir) Load() (Record, error) {
	raw, err := os.ReadFile(d.File("lab.json"))
	switch {
	case errors.Is(err, os.ErrNotExist):
		return d.loadMissing()
	case err != nil:
		return Record{}, fmt.Errorf("read lab: %w", err)
	}
	var record Record
	if err := json.Unmarshal(raw, &record); err != nil {
		return Record{}, fmt.Errorf("parse %s: %w", d.File("lab.json"), err)
	}
	return record, nil
}

// loadMissing tells a folder whose starter died before its first record, which
// is in no use, from no folder.
func (d Dir) loadMissing() (Record, error) {
	if _, err := os.Stat(d.Path); err != nil {
		return Record{}, ErrNotFound
	}
	return Record{Name: filepath.Base(d.Path)}, nil
}

// Save replaces the record at once: a reader never sees half of one.
func (d Dir) Save(record Record) error {
	raw, err := json.MarshalIndent(record, "", "  ")
	if err != nil {
		return fmt.Errorf("save lab: %w", err)
	}
	next := d.File("lab.json.next")
	if err := os.WriteFile(next, append(raw, '\n'), 0o600); err != nil {
		return fmt.Errorf("save lab: %w", err)
	}
	if err := os.Rename(next, d.File("lab.json")); err != nil {
		return fmt.Errorf("save lab: %w", err)
	}
	return nil
}

// Remove deletes the folder. End the lab's processes first.
func (d Dir) Remove() error {
	if err := os.RemoveAll(d.Path); err != nil {
		return fmt.Errorf("remove lab folder: %w", err)
	}
	return nil
}
