package kube

import (
	"errors"
	"fmt"
	"strings"
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
