// Command node runs Kubernetes' programs of a real machine: kubelet or kube-proxy. The first argument, or the name of
// the command, chooses the program.
//
// A lab of simulated machines does not need this program, and so does not wait for its build. The module is the control
// plane's: shared packages are compiled once.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	kubeproxy "k8s.io/kubernetes/cmd/kube-proxy/app"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"
)

// commands are upstream's, with upstream's flags.
var commands = map[string]func() *cobra.Command{
	"kubelet":    func() *cobra.Command { return kubelet.NewKubeletCommand(context.Background()) },
	"kube-proxy": kubeproxy.NewProxyCommand,
}

func main() {
	if len(os.Args) < 2 || commands[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, "usage: node kubelet|kube-proxy FLAGS")
		os.Exit(2)
	}
	// cobra and upstream's version flag read os.Args themselves.
	os.Args = os.Args[1:]
	os.Exit(cli.Run(commands[os.Args[0]]()))
}
