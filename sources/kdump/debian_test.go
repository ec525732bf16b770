package kdump

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"

	"github.com/nodefence/nodefence/test/rig/port"
)

// debianSend is where Debian's package fence-agents has its sender.
const debianSend = "/usr/libexec/fence-agents/fence_kdump_send"

func program(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("%s is missing: apt-get install fence-agents (%v)", name, err)
	}
	return path
}

// TestDebianSends: what fence_kdump_send sends is heard, more than once.
func TestDebianSends(t *testing.T) {
	send := program(t, debianSend)
	c, s := newCluster(node("a", "127.0.0.1")), &told{sent: make(chan event.Event, 10)}
	l, at := start(t, c, s)
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	// The node is known by 127.0.0.1, from where loopback is reached.
	cmd := exec.CommandContext(ctx, send, "-p", fmt.Sprint(at.Port), "-f", "ipv4", "-i", "1", "-c", "7", "127.0.0.1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("fence_kdump_send: %v\n%s", err, out)
	}
	for range 2 {
		if got := await(t, c.wrote); got != "a 127.0.0.1" {
			t.Error("written down:", got)
		}
		await(t, s.sent)
	}
	if err := l.Ready(); err != nil {
		t.Error(err)
	}
}

// TestDebianHears: fence_kdump takes the bytes that the tests send for a message,
// so that what is tested here is what it says it is.
func TestDebianHears(t *testing.T) {
	hear := program(t, "fence_kdump")
	for name, tc := range map[string]struct {
		b    []byte
		want bool
	}{
		"a message":            {message(binary.LittleEndian, magic, version), true},
		"another magic number": {message(binary.LittleEndian, 7, version), false},
		"another version":      {message(binary.LittleEndian, magic, 2), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wait := "4"
			if tc.want {
				wait = "60"
			}
			for range 5 {
				out, err := offered(t, hear, wait, tc.b)
				if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && exit.ExitCode() < 0 {
					t.Logf("it crashed by itself, once more: %v\n%s", err, out)
					continue
				}
				if (err == nil) != tc.want {
					t.Errorf("fence_kdump ended with %v\n%s", err, out)
				}
				return
			}
			t.Error("it crashed each time")
		})
	}
}

// offered is how fence_kdump ends that gets these bytes until then.
func offered(t *testing.T, hear, wait string, b []byte) (out string, err error) {
	t.Helper()
	at := port.UDP(t)
	cmd := exec.CommandContext(t.Context(), hear, "-n", "127.0.0.1", "-p", fmt.Sprint(at), "-f", "ipv4", "-t", wait, "-v")
	var said strings.Builder
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for {
		send(t, &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1), Port: at}, b)
		select {
		case err := <-ended:
			return said.String(), err
		case <-time.After(100 * time.Millisecond):
		}
	}
}
