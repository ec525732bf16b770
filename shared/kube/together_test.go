package kube

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/client-go/rest"
)

// TestTogether: all run at one time, the first error in order is returned, and a panic reaches
// the caller. In a model they run one after the other.
func TestTogether(t *testing.T) {
	first, second := errors.New("first"), errors.New("second")
	c, meets := &Client{}, make(chan struct{})
	err := c.Together(
		func() error { meets <- struct{}{}; return nil },
		func() error { <-meets; return first },
		func() error { return second },
	)
	if err != first {
		t.Error(err)
	}
	caught := ""
	func() {
		defer func() { caught = fmt.Sprint(recover()) }()
		_ = c.Together(func() error { panic("smoke") }, func() error { return first })
	}()
	if !strings.HasPrefix(caught, "smoke") || !strings.Contains(caught, "together_test.go") {
		t.Error(caught)
	}
	m, err := NewAt(&rest.Config{Host: "http://model"}, func() time.Duration { return 0 })
	if err != nil {
		t.Fatal(err)
	}
	order := ""
	err = m.Together(
		func() error { order += "1"; return nil },
		func() error { order += "2"; return first },
		func() error { order += "3"; return second },
	)
	if err != first || order != "12" {
		t.Error(order, err)
	}
}

// TestWhatIsDoneBeside is waited for, and its panic is the caller's and ends no process.
func TestWhatIsDoneBeside(t *testing.T) {
	ctx, wait := (&Client{}).WithBeside(t.Context())
	done, go1 := false, make(chan struct{})
	Beside(ctx, func() { <-go1; done = true })
	close(go1)
	if wait(); !done {
		t.Error("not waited for")
	}
	Beside(ctx, func() { panic("smoke") })
	defer func() {
		if v := recover(); v == nil {
			t.Error("the panic is lost")
		}
	}()
	wait()
}

// TestReadsAtOnceShareARequest: those who ask while a request is under way share the next one, and
// nobody is answered by a request that began before he asked.
func TestReadsAtOnceShareARequest(t *testing.T) {
	f := newFakeAPI(t)
	f.shared.patience = time.Hour
	var requests atomic.Int64
	began, goOn := make(chan int64, 10), make(chan struct{})
	f.answer[nodesPath+"/a"] = func(w http.ResponseWriter, _ request) {
		n := requests.Add(1)
		began <- n
		<-goOn
		_, _ = w.Write([]byte(`{"kind":"Node","metadata":{"name":"a","resourceVersion":"` + strconv.FormatInt(n, 10) + `"}}`))
	}
	var all sync.WaitGroup
	ask := func(ctx context.Context, want string) {
		all.Go(func() {
			n, err := f.Node(ctx, "a")
			if want == "" {
				if err == nil {
					t.Error("who has left got an answer")
				}
				return
			}
			if err != nil || n.ResourceVersion != want {
				t.Errorf("%v, %v; want %s", n, err, want)
			}
		})
	}
	waiting := func(want int) {
		t.Helper()
		for {
			f.shared.mu.Lock()
			next := f.shared.underWay[nodesPath+"/a"]
			is := next != nil && next.waiting == want
			f.shared.mu.Unlock()
			if is {
				return
			}
			if t.Context().Err() != nil {
				return
			}
			time.Sleep(time.Millisecond)
		}
	}
	ask(t.Context(), "1")
	<-began
	for range 5 {
		ask(t.Context(), "2")
	}
	leaves, leave := context.WithCancel(t.Context())
	ask(leaves, "")
	waiting(6)
	leave()
	waiting(5)
	goOn <- struct{}{}
	<-began
	ask(t.Context(), "3") // the second request began before
	waiting(1)
	goOn <- struct{}{}
	<-began
	goOn <- struct{}{}
	all.Wait()
	if n := requests.Load(); n != 3 {
		t.Errorf("%d requests", n)
	}
	f.shared.mu.Lock()
	defer f.shared.mu.Unlock()
	if len(f.shared.underWay) > 0 {
		t.Errorf("it keeps %v", f.shared.underWay)
	}
}

// TestAReadThatHangsHoldsNobodyUp for longer than a moment.
func TestAReadThatHangsHoldsNobodyUp(t *testing.T) {
	f := newFakeAPI(t)
	f.shared.patience = time.Millisecond
	var requests atomic.Int64
	began, goOn := make(chan struct{}), make(chan struct{})
	f.answer[nodesPath+"/a"] = func(w http.ResponseWriter, _ request) {
		if requests.Add(1) == 1 {
			close(began)
			f.mu.Unlock() // others are answered meanwhile
			<-goOn
			f.mu.Lock()
		}
		_, _ = w.Write([]byte(`{"kind":"Node","metadata":{"name":"a"}}`))
	}
	var hangs sync.WaitGroup
	var ended atomic.Bool
	hangs.Go(func() { _, _ = f.Node(t.Context(), "a"); ended.Store(true) })
	<-began
	if _, err := f.Node(t.Context(), "a"); err != nil || ended.Load() {
		t.Errorf("%v; the first one ended before: %v", err, ended.Load())
	}
	close(goOn)
	hangs.Wait()
}
