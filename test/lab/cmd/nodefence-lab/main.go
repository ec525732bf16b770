// Command nodefence-lab runs Kubernetes clusters with a real control plane and
// simulated machines on this one machine, without containers and without root.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/nodefence/nodefence/test/lab/cli"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := cli.Run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}
