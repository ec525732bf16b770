package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"time"

	"github.com/nodefence/nodefence/test/rig"
)

// trailRuns is how often each command and each page is run.
const trailRuns = 5

// measureHistory runs the commands that read the trail.
func measureHistory(ctx context.Context, kubeconfig string, calls *trace) error {
	bin, err := rig.Bin("kubectl-fence")
	if err != nil {
		return err
	}
	for _, c := range []struct {
		args []string
		// lines is how many lines are printed at least.
		lines int
	}{
		{[]string{"history"}, trailReports},
		{[]string{"history", trailNode(7)}, trailReports / trailNodes},
		{[]string{"history", "--since", "24h"}, 1},
		{[]string{"history", "-o", "json"}, trailReports},
		{[]string{"status"}, 0},
	} {
		var m measured
		for range trailRuns {
			var out, said bytes.Buffer
			cmd := exec.CommandContext(ctx, bin, append(c.args, "--kubeconfig", kubeconfig)...)
			cmd.Stdout, cmd.Stderr = &out, &said
			begun := time.Now()
			if err := cmd.Run(); err != nil {
				return fmt.Errorf("kubectl fence %s: %w: %s", strings.Join(c.args, " "), err, said.String())
			}
			m.addRun(time.Since(begun), cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime(), calls.between(begun, time.Now()))
			if n := bytes.Count(out.Bytes(), []byte("\n")); n < c.lines {
				return fmt.Errorf("kubectl fence %s printed %d lines, and not %d", strings.Join(c.args, " "), n, c.lines)
			}
		}
		fmt.Printf("kubectl fence %-20s %s\n", strings.Join(c.args, " "), m.describeRuns())
	}
	return nil
}

// browser is a kubectl fence ui with a browser that it let in.
type browser struct {
	client *http.Client
	base   string
	pid    int
}

// measurePages asks kubectl fence ui for its pages, first until the trail is read, and then again and again.
func measurePages(ctx context.Context, kubeconfig string, calls *trace) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	begun := time.Now()
	b, end, err := openBrowser(ctx, kubeconfig)
	if err != nil {
		return err
	}
	defer end()
	err = rig.Until(ctx, "the page of the history to be whole", func() (bool, error) {
		text, err := b.readPage("/history")
		return strings.Contains(text, fmt.Sprint(trailReports-300)+" earlier ones are not listed"), err
	})
	if err != nil {
		return err
	}
	u, err := usage(b.pid)
	if err != nil {
		return err
	}
	var first measured
	first.addRun(time.Since(begun), u.cpu, calls.between(begun, time.Now()))
	fmt.Printf("kubectl fence ui, from its start to a whole history: %s\n", first.describeRuns())
	for _, path := range []string{"/history", "/history?node=" + trailNode(7), "/", "/node/node-1", "/policies"} {
		if err := b.measurePage(path, calls); err != nil {
			return err
		}
	}
	if u, err = usage(b.pid); err == nil {
		fmt.Printf("kubectl fence ui: %d MB resident, at most %d MB since its start\n", u.resident>>20, u.most>>20)
	}
	return err
}

// measurePage asks for one page again and again, and prints its times, size and CPU, and the requests to the API server.
func (b *browser) measurePage(path string, calls *trace) error {
	const runs = 4 * trailRuns
	before, err := usage(b.pid)
	if err != nil {
		return err
	}
	begun := time.Now()
	var took []time.Duration
	size := 0
	for range runs {
		from := time.Now()
		text, err := b.readPage(path)
		if err != nil {
			return err
		}
		took, size = append(took, time.Since(from)), len(text)
	}
	after, err := usage(b.pid)
	if err != nil {
		return err
	}
	fmt.Printf("page %-24s %s; %d KB, %s ms of CPU each, %d requests to the API server\n", path, quantiles(took), size>>10, ms((after.cpu-before.cpu)/runs), len(calls.between(begun, time.Now())))
	return nil
}

// invitation is the address that lets a browser in.
var invitation = regexp.MustCompile(`http://\S+token=\S+`)

// openBrowser starts kubectl fence ui, and lets a browser in. end ends it.
func openBrowser(ctx context.Context, kubeconfig string) (b *browser, end func(), err error) {
	bin, err := rig.Bin("kubectl-fence")
	if err != nil {
		return nil, nil, err
	}
	cmd := exec.CommandContext(ctx, bin, "ui", "--kubeconfig", kubeconfig)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, nil, fmt.Errorf("start kubectl fence ui: %w", err)
	}
	end = func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait()
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	address := invitation.FindString(line)
	if err != nil || address == "" {
		end()
		return nil, nil, errors.Join(fmt.Errorf("kubectl fence ui printed no address: %q", line), err)
	}
	go func() { _, _ = io.Copy(io.Discard, out) }()
	jar, err := cookiejar.New(nil)
	if err == nil {
		b = &browser{client: &http.Client{Jar: jar}, pid: cmd.Process.Pid}
		err = b.letIn(address)
	}
	if err != nil {
		end()
	}
	return b, end, err
}

// letIn uses the address that lets a browser in.
func (b *browser) letIn(address string) error {
	r, err := b.client.Get(address)
	if err != nil {
		return fmt.Errorf("enter kubectl fence ui: %w", err)
	}
	_ = r.Body.Close()
	base := url.URL{Scheme: r.Request.URL.Scheme, Host: r.Request.URL.Host, Path: strings.TrimSuffix(r.Request.URL.Path, "/")}
	b.base = base.String()
	return nil
}

// readPage returns the text of a page.
func (b *browser) readPage(path string) (string, error) {
	r, err := b.client.Get(b.base + path)
	if err != nil {
		return "", fmt.Errorf("read page %s: %w", path, err)
	}
	text, err := io.ReadAll(r.Body)
	_ = r.Body.Close()
	if err != nil || r.StatusCode != http.StatusOK {
		return "", fmt.Errorf("read page %s: %s: %w", path, r.Status, err)
	}
	return string(text), nil
}
