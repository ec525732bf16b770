package machine

import (
	"context"
	"net"
	"os"
	"testing"
	"time"
)

func TestThePortAnswersWhileAKernelLives(t *testing.T) {
	p, err := newPort("127.30.99.1")
	if err != nil {
		t.Fatal(err)
	}
	defer p.listener.Close()
	for range 3 {
		if err := dial(p); !os.IsTimeout(err) {
			t.Fatalf("without a kernel: %v", err)
		}
		ctx, die := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- p.answer(ctx) }()
		for dial(p) != nil { // until it listens
		}
		die()
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
	}
}

func dial(p *port) error {
	conn, err := net.DialTimeout("tcp", p.listener.Addr().String(), 300*time.Millisecond)
	if err == nil {
		err = conn.Close()
	}
	return err
}
