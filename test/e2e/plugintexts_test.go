package e2e

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// prepares: policies to start with, and what a fence of a node that is well would do.
func (s *transcript) prepares() {
	s.types(1, "init")
	s.types(1, "init", "--for", "boat")
	for _, args := range [][]string{{"init", "--for", "metal"}, {"init", "--for", "cloud", "--name", "web", "--selector", "pool=web"}} {
		s.writes(commandLine(args...), s.exits(0, s.command(args...))) // as it is: its times are the policy's
	}
	s.types(0, "plan", "node-0")
}

// invitation is what lets one browser in.
var invitation = regexp.MustCompile(`\?token=\S+`)

// serves has the page served until it is told where, and ends it as Ctrl-C does.
func (s *transcript) serves() {
	cmd := s.command("ui")
	cmd.Stderr = s.t.Output()
	out, err := cmd.StdoutPipe()
	must(s.t, err)
	must(s.t, cmd.Start())
	said, lines := "", bufio.NewScanner(out)
	for range 2 {
		if lines.Scan() {
			said += lines.Text() + "\n"
		}
	}
	must(s.t, cmd.Process.Signal(os.Interrupt))
	_, _ = io.Copy(io.Discard, out)
	if err := cmd.Wait(); err != nil {
		s.t.Errorf("ui ends with %v", err)
	}
	s.writes("kubectl fence ui", masked(invitation.ReplaceAllString(said, "?token=TOKEN"))+"^C\n")
}

// follows starts status -w. The function that it returns waits for the lines of a whole fence of
// node-0, ends it as Ctrl-C does, and keeps what every run has of them.
func (s *transcript) follows() func() {
	cmd := s.command("status", "-w")
	out, err := cmd.StdoutPipe()
	must(s.t, err)
	must(s.t, cmd.Start())
	said, lines := "", bufio.NewScanner(out)
	for range 5 { // the head, and the nodes as they are
		if !lines.Scan() {
			s.t.Error("status -w ended before it had shown all nodes")
		}
		said += lines.Text() + "\n"
	}
	next := func(state string) {
		for lines.Scan() {
			if f := strings.Fields(lines.Text()); f[0] == "node-0" && f[3] == state {
				if state != "Watched" {
					f[1], f[4], f[5] = "…", "…", "…" // they differ each time
				}
				said += strings.Join(f, "  ") + "\n"
				return
			}
		}
		s.t.Errorf("status -w ended before node-0 was %s", state)
	}
	return func() {
		for _, state := range []string{"Fencing", "Recovering", "Watched"} {
			next(state)
		}
		must(s.t, cmd.Process.Signal(os.Interrupt))
		_, _ = io.Copy(io.Discard, out)
		if err := cmd.Wait(); err != nil {
			s.t.Errorf("status -w ends with %v", err)
		}
		s.writes("kubectl fence status -w", masked(said)+"^C\n")
		s.kept("watch")
	}
}

// notes starts status -w. The function that it returns waits for a note with these words, and ends it as
// Ctrl-C does.
func (s *transcript) notes() func(words string) {
	cmd := s.command("status", "-w")
	said, err := cmd.StderrPipe()
	must(s.t, err)
	out, err := cmd.StdoutPipe()
	must(s.t, err)
	must(s.t, cmd.Start())
	rows := bufio.NewScanner(out)
	for range 5 { // the head, and the nodes as they are, which come after the notes of the start
		if !rows.Scan() {
			s.t.Error("status -w ended before it had shown all nodes")
		}
	}
	return func(words string) {
		limit := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() }) // only ends a broken test
		defer limit.Stop()
		notes := bufio.NewScanner(said)
		for !strings.Contains(notes.Text(), words) {
			if !notes.Scan() {
				s.t.Errorf("status -w ended without the note %q", words)
				break
			}
		}
		_ = cmd.Process.Signal(os.Interrupt)
		_, _ = io.Copy(io.Discard, said)
		_, _ = io.Copy(io.Discard, out)
		if err := cmd.Wait(); err != nil {
			s.t.Errorf("status -w ends with %v", err)
		}
	}
}

// jsonEntry is an entry of a fence's history under -o json.
var jsonEntry = regexp.MustCompile(`\n +\{\s+"at": [^{}]*"phase": [^{}]*"reason": "(\w+)"[^{}]*\},?`)

// tells: one fence for a program. A step that was taken again, as where a call waited too long for its turn, is shown once.
func (s *transcript) tells() {
	said, was := unchanging(s.exits(0, s.command("history", "node-0", "-o", "json"))), ""
	said = jsonEntry.ReplaceAllStringFunc(said, func(e string) string {
		if e == was || !steady.MatchString("  "+jsonEntry.FindStringSubmatch(e)[1]+": ") {
			return ""
		}
		was = e
		return e
	})
	s.writes("kubectl fence history node-0 -o json", said)
}

// asksFor: a fence that a person asks for waits for one too, and ends once its request is deleted.
func (s *transcript) asksFor() {
	said := s.types(0, "ask", "node-0", "--reason", "its fan screams", "--yes")
	s.reason("node-0", api.WaitingForApproval)
	s.types(0, "why", "node-0")
	_, name, _ := strings.Cut(said, "fencerequest.nodefence.io/")
	name, _, _ = strings.Cut(name, " ")
	must(s.t, s.fenceRequests("").Delete(s.ctx, name, metav1.DeleteOptions{}))
	s.ended("node-0", api.Aborted)
	s.words("node-0", "off on") // of the drill
	s.types(0, "history", "node-0")
}

// bundleTime is in the name of a bundle.
var bundleTime = regexp.MustCompile(`\d{8}-\d{6}`)

// bundles: every password of the lab is looked for in a bundle, and in a ConfigMap that has one by
// mistake (S29).
func (s *transcript) bundles() {
	machines, err := s.Lab.Machines()
	must(s.t, err)
	bindings := s.Kube.CoreV1().ConfigMaps("nodefence-system")
	own, err := bindings.Get(s.ctx, "fence-config-node-node-0", metav1.GetOptions{})
	must(s.t, err)
	own.Data["by-mistake"] = "password=" + machines["node-0"].Password + "\nnote=" + machines["node-1"].Password + "\n"
	_, err = bindings.Update(s.ctx, own, metav1.UpdateOptions{})
	must(s.t, err)
	cmd := s.command("bundle")
	cmd.Dir = s.t.TempDir()
	said := s.exits(0, cmd)
	archive, _, _ := strings.Cut(said, ": ")
	if strings.Contains(said, "missing") {
		s.t.Fatal(said)
	}
	files := untar(s.t, filepath.Join(cmd.Dir, archive))
	for _, m := range machines {
		for name, text := range files {
			if len(m.Password) < 8 || bytes.Contains(text, []byte(m.Password)) {
				s.t.Errorf("the password of %s is in %s", m.Name, name)
			}
		}
	}
	for name, has := range map[string]string{"nodefences.yaml": "fenceNumber: 1", "why/node-3.txt": "node-3", "configmaps.yaml": "secret=bmc-node-0", "events.yaml": "about: NodeFence/", "fencetargets.yaml": "ipmi", "status.yaml": "Recovered"} {
		if !bytes.Contains(files["nodefence-bundle/"+name], []byte(has)) {
			s.t.Errorf("%s does not have %q", name, has)
		}
	}
	s.lists(said, archive, files)
}

// lists writes down which files a bundle has. A node's own file is there if it needs a look just then.
func (s *transcript) lists(said, archive string, files map[string][]byte) {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if strings.HasPrefix(name, "nodefence-bundle/why/") {
			name = "nodefence-bundle/why/NODE.txt"
		}
		names = append(names, name)
	}
	said = bundleTime.ReplaceAllString(said, "TIME")
	s.writes("kubectl fence bundle", regexp.MustCompile(`\d+ files`).ReplaceAllString(said, "N files"))
	s.writes("tar -tzf "+bundleTime.ReplaceAllString(archive, "TIME")+" | sort -u", strings.Join(slices.Compact(names), "\n")+"\n")
}

// untar is the files of an archive.
func untar(t *testing.T, file string) map[string][]byte {
	t.Helper()
	f, err := os.Open(file)
	must(t, err)
	defer f.Close()
	zip, err := gzip.NewReader(f)
	must(t, err)
	all, files := tar.NewReader(zip), map[string][]byte{}
	for {
		h, err := all.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		must(t, err)
		files[h.Name], err = io.ReadAll(all)
		must(t, err)
	}
}

// lacks: no cluster is named, or none answers; and one from which nodefence's kinds are gone.
func (s *transcript) lacks() {
	for _, tc := range []struct {
		line string
		env  []string
	}{
		{"env -u KUBECONFIG HOME=/nowhere kubectl fence status", []string{"HOME=/nowhere"}},
		{"KUBECONFIG=/nowhere kubectl fence status", []string{"HOME=/nowhere", "KUBECONFIG=/nowhere"}},
	} {
		cmd := s.command("status")
		cmd.Env = tc.env
		s.writes(tc.line, masked(s.exits(1, cmd)))
	}
	s.types(1, "status", "--server", "https://127.0.0.1:1")
	must(s.t, s.Kube.CoreV1().RESTClient().Delete().AbsPath("/apis/apiextensions.k8s.io/v1/customresourcedefinitions").Do(s.ctx).Error())
	for _, args := range [][]string{{"status"}, {"stop", "--yes"}, {"plan", "node-0"}} {
		s.until("nodefence's kinds to be gone", func() (bool, error) {
			_, said := s.plugin(args...)
			return strings.Contains(said, "not installed"), nil
		})
	}
	s.types(1, "status")
	s.types(1, "stop", "--yes")
	s.types(2, "plan", "node-0")
}
