package rig

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nodefence/nodefence/test/judge"
)

// records are the paths of the logs that a lab writes about itself.
type records struct {
	Audit         []string
	BMCs, Writers string
}

// Declare tells the judge of the lab's history about a lie or an intervention that the test plans; without a
// node about all nodes.
func (l *Lab) Declare(kind judge.Kind, nodes ...string) {
	if len(nodes) == 0 {
		nodes = []string{""}
	}
	for _, node := range nodes {
		l.declared = append(l.declared, judge.Declared{Kind: kind, Node: node})
	}
}

// Judge says whether the lab's history since its start, or its last reset, keeps the promises.
func (l *Lab) Judge() (*judge.Verdict, error) {
	paths, err := l.records()
	if err != nil {
		return nil, err
	}
	h := &judge.History{Declared: l.declared}
	if err := h.ReadFiles(judge.Files{Audit: paths.Audit, BMCs: listExisting(paths.BMCs), Writers: listExisting(paths.Writers)}); err != nil {
		return nil, fmt.Errorf("read history of lab %s: %w", l.Name, err)
	}
	return judge.Judge(h), nil
}

// AuditLogs are the paths of the API server's audit logs, oldest first.
func (l *Lab) AuditLogs() ([]string, error) {
	paths, err := l.records()
	return paths.Audit, err
}

func (l *Lab) records() (paths records, err error) {
	return paths, l.ask(&paths, "records")
}

// listExisting is a path, if there is such a file: a lab without machines has no journals of machines.
func listExisting(path string) []string {
	if _, err := os.Stat(path); err != nil {
		return nil
	}
	return []string{path}
}

// judgeForTest fails a test whose history breaks a promise, and keeps the logs then. Nothing of nodefence
// may run any more.
func (l *Lab) judgeForTest(t testing.TB) {
	t.Helper()
	v, err := l.Judge()
	if err != nil {
		t.Errorf("judge the history: %v", err)
		return
	}
	t.Logf("verdict:\n%s", v)
	if v.Err() == nil {
		return
	}
	dir := filepath.Join(os.TempDir(), "nodefence-"+strings.ReplaceAll(t.Name(), "/", "-")+"-history")
	t.Errorf("the history breaks a promise; its logs: %s (%v)", dir, l.KeepRecords(dir))
}

// KeepRecords copies the lab's logs to a folder.
func (l *Lab) KeepRecords(dir string) error {
	paths, err := l.records()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	for _, path := range append(paths.Audit, append(listExisting(paths.BMCs), listExisting(paths.Writers)...)...) {
		if err := copyFile(path, filepath.Join(dir, filepath.Base(path))); err != nil {
			return err
		}
	}
	return nil
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}
