package plane

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	identity "github.com/nodefence/nodefence/test/lab/process"
)

// TestMain also plays the test run that is killed.
func TestMain(m *testing.M) {
	if os.Getenv(toBeKilled) != "" {
		playVictim()
		return
	}
	os.Exit(m.Run())
}

const toBeKilled = "NODEFENCE_PLANE_TEST_VICTIM"

// playVictim starts a process as a test would, says which, and stays.
func playVictim() {
	t, err := newThread(newNamespace)
	if err != nil {
		fmt.Println("error:", err)
		return
	}
	cmd := exec.Command("/bin/sleep", "600")
	if err := t.start(cmd); err != nil {
		fmt.Println("error:", err)
		return
	}
	fmt.Println(cmd.Process.Pid)
	select {}
}

func needNamespaces(t *testing.T) {
	t.Helper()
	if err := Missing(); err != nil {
		t.Skip(err)
	}
}

func TestNamespacesHaveTheirOwnPorts(t *testing.T) {
	needNamespaces(t)
	threads := map[string]*thread{}
	for _, name := range []string{"one", "other"} {
		thread, err := newThread(newNamespace)
		if err != nil {
			t.Fatal(err)
		}
		defer thread.end()
		threads[name] = thread
		l, err := thread.listen(programAddr)
		if err != nil {
			t.Fatalf("the port is taken in namespace %s: %v", name, err)
		}
		defer func() { _ = l.Close() }()
		go answer(l, name)
	}
	for name, thread := range threads {
		c, err := thread.dial(t.Context(), programAddr)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(c)
		if err != nil || string(got) != name {
			t.Errorf("in namespace %s answered %q, %v", name, got, err)
		}
	}
}

func answer(l net.Listener, what string) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		_, _ = io.WriteString(c, what)
		_ = c.Close()
	}
}

// TestNothingOutlivesAKilledRun: a run that is ended by force has no chance to
// clean up, so there must be nothing to clean.
func TestNothingOutlivesAKilledRun(t *testing.T) {
	needNamespaces(t)
	run := exec.Command(os.Args[0])
	run.Env = append(os.Environ(), toBeKilled+"=1")
	out, err := run.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatalf("the run said %q", line)
	}
	child, err := identity.Identify(pid)
	if err != nil || !child.Alive() {
		t.Fatalf("its process does not run: %v", err)
	}
	if err := run.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = run.Wait()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for child.Alive() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			_ = child.End(context.Background(), 0)
			t.Fatal("its process lives on")
		}
	}
}
