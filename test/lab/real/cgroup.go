package real

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	poll = 5 * time.Millisecond
	// powerLimit is for stopping and killing all processes of a machine, on a busy host.
	powerLimit = 30 * time.Second
)

// hierarchy is a mounted hierarchy of cgroup v1.
type hierarchy struct {
	mount string
	// controllers are also the options of a further mount.
	controllers []string
}

func (h hierarchy) has(controller string) bool { return slices.Contains(h.controllers, controller) }

// listHierarchies returns the mounted hierarchies of cgroup v1.
func listHierarchies() ([]hierarchy, error) {
	file, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return nil, fmt.Errorf("find cgroups: %w", err)
	}
	defer file.Close()
	var all []hierarchy
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		if h, is := parseHierarchy(lines.Text()); is && !slices.ContainsFunc(all, func(o hierarchy) bool { return slices.Equal(o.controllers, h.controllers) }) {
			all = append(all, h)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("find cgroups: %w", err)
	}
	return all, nil
}

// parseHierarchy reads a line of mountinfo; its fields after " - " are the type, the source and the options of the
// file system.
func parseHierarchy(line string) (hierarchy, bool) {
	before, after, _ := strings.Cut(line, " - ")
	place, system := strings.Fields(before), strings.Fields(after)
	if len(place) < 5 || len(system) < 3 || system[0] != "cgroup" {
		return hierarchy{}, false
	}
	h := hierarchy{mount: place[4]}
	for option := range strings.SplitSeq(system[2], ",") {
		switch name, _, valued := strings.Cut(option, "="); {
		case option == "rw", option == "ro", option == "xattr", option == "clone_children", option == "noprefix", name == "release_agent":
		case !valued, name == "name":
			h.controllers = append(h.controllers, option)
		}
	}
	return h, len(h.controllers) > 0
}

// group is a cgroup of the same path in each hierarchy.
type group struct {
	path string
	in   []hierarchy
}

func newGroup(elements ...string) (group, error) {
	in, err := listHierarchies()
	return group{path: filepath.Join(elements...), in: in}, err
}

// create makes the cgroup in each hierarchy. A cpuset takes processes once it has CPUs and memory.
func (g group) create() error {
	for _, h := range g.in {
		at := h.mount
		for element := range strings.SplitSeq(g.path, "/") {
			parent := at
			at = filepath.Join(at, element)
			if err := os.Mkdir(at, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
				return fmt.Errorf("make cgroup: %w", err)
			}
			if !h.has("cpuset") {
				continue
			}
			if err := errors.Join(copyFromParent(parent, at, "cpuset.cpus"), copyFromParent(parent, at, "cpuset.mems")); err != nil {
				return err
			}
		}
	}
	return nil
}

func copyFromParent(parent, child, file string) error {
	value, err := os.ReadFile(filepath.Join(parent, file))
	if err == nil {
		err = os.WriteFile(filepath.Join(child, file), value, 0o644)
	}
	if err != nil {
		return fmt.Errorf("fill cgroup: %w", err)
	}
	return nil
}

// enter moves a process into the cgroup.
func (g group) enter(pid int) error {
	for _, h := range g.in {
		if err := os.WriteFile(filepath.Join(h.mount, g.path, "cgroup.procs"), []byte(strconv.Itoa(pid)), 0o644); err != nil {
			return fmt.Errorf("enter cgroup: %w", err)
		}
	}
	return nil
}

// freezer is the folder of the cgroup in the freezer hierarchy.
func (g group) freezer() string {
	for _, h := range g.in {
		if h.has("freezer") {
			return filepath.Join(h.mount, g.path)
		}
	}
	return ""
}

// exists tells whether the cgroup is there.
func (g group) exists() bool {
	at := g.freezer()
	_, err := os.Stat(at)
	return at != "" && err == nil
}

// freeze stops all processes of the cgroup and of the cgroups below, and returns when no process runs.
func (g group) freeze(ctx context.Context) error { return g.setState(ctx, "FROZEN") }

// thaw lets all processes go on.
func (g group) thaw(ctx context.Context) error { return g.setState(ctx, "THAWED") }

func (g group) setState(ctx context.Context, state string) error {
	file := filepath.Join(g.freezer(), "freezer.state")
	return waitUntil(ctx, "cgroup "+g.path+" to be "+state, func() (bool, error) {
		if err := os.WriteFile(file, []byte(state), 0o644); err != nil {
			return false, err
		}
		now, err := os.ReadFile(file)
		return strings.TrimSpace(string(now)) == state, err
	})
}

// processes lists the processes of the cgroup and of the cgroups below.
func (g group) processes() ([]int, error) {
	var all []int
	err := filepath.WalkDir(g.freezer(), func(at string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // removed in the meantime
		}
		if err != nil || entry.Name() != "cgroup.procs" {
			return err
		}
		raw, err := os.ReadFile(at)
		if errors.Is(err, syscall.ENODEV) || errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		for text := range strings.FieldsSeq(string(raw)) {
			// A process of a foreign namespace reads as 0.
			if pid, err := strconv.Atoi(text); err == nil && pid > 0 {
				all = append(all, pid)
			}
		}
		return err
	})
	return all, err
}

// kill freezes all processes, and kills the frozen processes: no process executes a further instruction.
func (g group) kill(ctx context.Context) error {
	if err := g.freeze(ctx); err != nil {
		return err
	}
	all, err := g.processes()
	if err != nil {
		return fmt.Errorf("list processes: %w", err)
	}
	for _, pid := range all {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
			return fmt.Errorf("kill process %d: %w", pid, err)
		}
	}
	if err := g.thaw(ctx); err != nil {
		return err
	}
	return waitUntil(ctx, "processes of cgroup "+g.path+" to end", func() (bool, error) {
		left, err := g.processes()
		return len(left) == 0, err
	})
}

// remove deletes the cgroup and the cgroups below. All must be empty.
func (g group) remove(ctx context.Context) error {
	for _, h := range g.in {
		top := filepath.Join(h.mount, g.path)
		err := waitUntil(ctx, "cgroup "+top+" to be empty", func() (bool, error) {
			err := removeFolders(top)
			return err == nil, ignoreError(err, syscall.EBUSY)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// removeFolders deletes a folder of cgroups with all folders below. The kernel removes the files.
func removeFolders(top string) error {
	var folders []string
	err := filepath.WalkDir(top, func(at string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() {
			folders = append(folders, at)
		}
		return ignoreError(err, fs.ErrNotExist)
	})
	for _, at := range slices.Backward(folders) {
		err = errors.Join(err, ignoreError(syscall.Rmdir(at), syscall.ENOENT))
	}
	return err
}

// ignoreError returns nil for the expected error, and any other error as it is.
func ignoreError(err, expected error) error {
	if errors.Is(err, expected) {
		return nil
	}
	return err
}

// waitUntil asks until the answer is yes, or fails.
func waitUntil(ctx context.Context, what string, so func() (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, powerLimit)
	defer cancel()
	tick := time.NewTicker(poll)
	defer tick.Stop()
	for {
		yes, err := so()
		if err != nil {
			return fmt.Errorf("wait for %s: %w", what, err)
		}
		if yes {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("wait for %s: %w", what, ctx.Err())
		}
	}
}
