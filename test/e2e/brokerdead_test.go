//go:build linux

package e2e

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nodefence/nodefence/infra/local"
	"github.com/nodefence/nodefence/infra/local/broker/brokentest"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// TestAStreamThatRefusesEveryWrite during a fence: the fence ends, /healthz reports the fault, and
// another broker runs afterwards (S19).
func TestAStreamThatRefusesEveryWrite(t *testing.T) {
	w := newWorld(t, 3, patient)
	var dir string
	p := w.start(func(o *local.Options) { dir = o.DataDir })
	server := httptest.NewServer(p.HTTP())
	defer server.Close()
	victim := w.hangingFence()
	if n, err := brokentest.Full(filepath.Join(dir, "broker")); err != nil || n == 0 {
		t.Fatalf("%d files of the broker were spoilt: %v", n, err)
	}
	must(t, w.Lab.Fault(victim, "none"))
	w.until("/healthz to tell of it", func() (bool, error) { code, _ := health(server.URL); return code == http.StatusServiceUnavailable, nil })
	w.ended(victim, api.Recovered)
	w.words(victim, "off on")
	w.oneWriter()
	w.until("another broker", func() (bool, error) { code, _ := health(server.URL); return code == http.StatusOK, nil })
	if n := post(t, server.URL, 10); n != http.StatusAccepted {
		t.Errorf("posting answers %d", n)
	}
}

// TestABrokerOnAFullDisk: its file system fills up during a fence and stays full until the
// fence has ended. When there is room again, a broker starts by itself (S19).
func TestABrokerOnAFullDisk(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root, for a file system of its own; TestAStreamThatRefusesEveryWrite does not")
	}
	w := newWorld(t, 3, patient)
	p, disk, err := w.StartOnSmallDisk(w.ctx, t.TempDir(), "16m", w.log)
	must(t, err)
	t.Cleanup(p.Stop)
	at := "http://" + p.Addr
	victim := w.hangingFence()
	makeRoom := keepFull(t, filepath.Join(disk, "fill"))
	t.Cleanup(makeRoom)
	w.until("the broker to take nothing more", func() (bool, error) { return post(t, at, 64<<10) != http.StatusAccepted, nil })
	must(t, w.Lab.Fault(victim, "none"))
	w.ended(victim, api.Recovered)
	w.until("/healthz to tell of it", func() (bool, error) {
		code, said := health(at)
		return code == http.StatusServiceUnavailable && strings.Contains(said, "the broker"), nil
	})
	w.words(victim, "off on")
	w.oneWriter()
	makeRoom()
	w.until("a broker where there is room again", func() (bool, error) { code, _ := health(at); return code == http.StatusOK, nil })
	if n := post(t, at, 10); n != http.StatusAccepted {
		t.Errorf("posting answers %d", n)
	}
}

// TestADiskThatIsFullFromTheStart: no broker starts, resync calls the functions that fence
// a dying node, and a broker starts when there is room (S19).
func TestADiskThatIsFullFromTheStart(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root, for a file system of its own; TestWithoutABrokerAtFirst of the broker does not")
	}
	w := newWorld(t, 3, patient)
	p, full, err := w.StartOnFullDisk(w.ctx, t.TempDir(), "16m", w.log)
	must(t, err)
	t.Cleanup(p.Stop)
	at := "http://" + p.Addr
	victim := w.database(1)
	w.node(victim, "crash")
	w.ended(victim, api.Recovered)
	if code, said := health(at); code != http.StatusServiceUnavailable || !strings.Contains(said, "the broker is being restarted") {
		t.Errorf("/healthz answers %d: %s", code, said)
	}
	w.words(victim, "off on")
	w.oneWriter()
	must(t, os.Remove(full))
	w.until("a broker where there is room", func() (bool, error) { code, _ := health(at); return code == http.StatusOK, nil })
	if n := post(t, at, 10); n != http.StatusAccepted {
		t.Errorf("posting answers %d", n)
	}
}

// hangingFence is a fence that stops before its first command, because the device hangs.
func (w *world) hangingFence() (victim string) {
	w.t.Helper()
	victim = w.database(1)
	must(w.t, w.Lab.Fault(victim, "hang"))
	w.node(victim, "crash")
	w.phase(victim, api.Fencing)
	return victim
}

// keepFull writes a file until there is no room, again and again, until it is told to
// make room.
func keepFull(t *testing.T, path string) (makeRoom func()) {
	t.Helper()
	f, err := os.Create(path)
	must(t, err)
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for {
			for size := 1 << 20; size > 0; {
				if _, err := f.Write(make([]byte, size)); err != nil {
					size /= 2
				}
			}
			select {
			case <-stop:
				return
			case <-tick.C:
			}
		}
	}()
	return sync.OnceFunc(func() {
		close(stop)
		<-done
		must(t, f.Close())
		must(t, os.Remove(path))
	})
}

func health(at string) (code int, said string) {
	r, err := http.Get(at + "/healthz")
	if err != nil {
		return 0, err.Error()
	}
	defer func() { _ = r.Body.Close() }()
	body, _ := io.ReadAll(r.Body)
	return r.StatusCode, string(body)
}

var posts atomic.Int64

// post sends an event that is about no node of the cluster.
func post(t *testing.T, at string, size int) (status int) {
	t.Helper()
	body := fmt.Sprintf(`{"specversion":"1.0","id":"%d","source":"/test","type":"com.example.nothing","subject":"nobody","time":%q,"data":"%s"}`, posts.Add(1), time.Now().UTC().Format(time.RFC3339), bytes.Repeat([]byte("x"), size))
	r, err := http.Post(at, "application/cloudevents+json", strings.NewReader(body))
	if err != nil {
		return 0
	}
	_ = r.Body.Close()
	return r.StatusCode
}
