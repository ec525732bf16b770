package binding

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"sync"

	"github.com/nodefence/nodefence/shared/config"
	"github.com/nodefence/nodefence/shared/device"
)

// name is a digest of this program and of the settings by which it resolves devices. What
// another program or other settings have kept may be another reading of the same
// ConfigMaps. It is empty if the program does not know which it is.
func (b Resolver) name() string {
	program := program()
	if program == "" {
		return ""
	}
	return short(slices.Concat(
		[]string{program, b.Namespace, b.AgentsDir}, slices.Sorted(maps.Keys(b.Drivers)),
		[]string{"images"}, b.JobImages, []string{"adopts"}, b.Adopts, []string{"agents"}, b.agentsHere(),
	)...)
}

// agentsHere are the agents' programs as they are installed, by name, size and when they were
// changed: by the same three the driver knows whether an agent's parameters are still those that
// the agent told.
func (b Resolver) agentsHere() (all []string) {
	if b.AgentsDir == "" {
		return nil
	}
	paths, err := filepath.Glob(filepath.Join(b.AgentsDir, "fence_*"))
	if err != nil {
		return []string{err.Error()}
	}
	slices.Sort(paths)
	for _, path := range paths {
		is := path
		if file, err := os.Stat(path); err == nil {
			is = fmt.Sprint(path, " ", file.Size(), " ", file.ModTime().UnixNano())
		}
		all = append(all, is)
	}
	return all
}

// telling are the settings that note in outside if an agent's own program did not tell its
// parameters: asked again, it may.
func (b Resolver) telling(outside *bool) config.Settings {
	s := b.settings()
	note := func(find func(string) (device.Kind, error)) func(string) (device.Kind, error) {
		if find == nil {
			return nil
		}
		return func(agent string) (device.Kind, error) {
			k, err := find(agent)
			*outside = *outside || err != nil
			return k, err
		}
	}
	s.Find, s.Job = note(s.Find), note(s.Job)
	return s
}

// program tells this program from every other one: the revision that it was built from, or
// what is in its file.
var program = sync.OnceValue(func() string {
	revision, modified := "", ""
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			switch s.Key {
			case "vcs.revision":
				revision = s.Value
			case "vcs.modified":
				modified = s.Value
			}
		}
	}
	if revision != "" && modified == "false" {
		return strings.Join([]string{"revision", revision}, " ")
	}
	path, err := os.Executable()
	if err != nil {
		return ""
	}
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close() //nolint:errcheck // it was only read
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return ""
	}
	return hex.EncodeToString(sum.Sum(nil))
})
