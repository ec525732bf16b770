// Command nodefence-lab runs Kubernetes clusters with a real control plane and
// simulated machines on this one machine, without containers and without root.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/nodefence/nodefence/test/lab/cli"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := cli.Run(ctx, os.Args[1:], cli.Host{Now: time.Now, Getenv: os.Getenv}, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}
