// Command nodefence-kdump receives the kdump messages of a cluster's machines.
package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"

	"k8s.io/client-go/rest"

	"github.com/nodefence/nodefence/shared/kube"
	"github.com/nodefence/nodefence/shared/kube/eks"
	"github.com/nodefence/nodefence/shared/run"
	"github.com/nodefence/nodefence/shared/run/sink"
	"github.com/nodefence/nodefence/sources/kdump"
	"github.com/nodefence/nodefence/sources/program"
)

const usage = `nodefence-kdump hears what machines send while they write the memory of their
crashed kernel away (fence_kdump_send), and writes down in namespace
nodefence-kdump of which node it came. Any number of replicas may run.

It takes no arguments. It is configured by its environment:

  NODEFENCE_KDUMP       address that messages are heard at, by UDP (:7410)
  K_SINK                URL that events are posted to, such as a Broker's. Without it
                        none are sent, and a fence sees a dump when it next looks
  K_CE_OVERRIDES        {"extensions":{"name":"value"}}, added to every event
  K_CA_CERTS            certificates in PEM that an https sink is trusted by, besides
                        the system's and those in /knative-custom-certs
  NODEFENCE_TOKEN_FILE  file with the token that the sink asks for, read before each
                        send; none is sent if there is no such file (/oidc/token)
  NODEFENCE_CLUSTER     this cluster's name in events (the UID of namespace kube-system)
  KUBECONFIG            file that says how to reach the cluster (in a pod its own account)
  NODEFENCE_EKS_CLUSTER instead of KUBECONFIG: name of an EKS cluster, reached as this
                        process's IAM role, with NODEFENCE_EKS_ENDPOINT (URL) and
                        NODEFENCE_EKS_CA (PEM in base64)
  LISTEN                address of /healthz, /readyz and /metrics (:8080)

Its log is JSON on standard error.
`

type settings struct {
	sink.Options
	EKS        eks.Cluster
	Kdump      string `envconfig:"NODEFENCE_KDUMP" default:":7410"`
	Cluster    string `envconfig:"NODEFENCE_CLUSTER"`
	Kubeconfig string `envconfig:"KUBECONFIG"`
	Listen     string `envconfig:"LISTEN" default:":8080"`
}

const name = "nodefence-kdump"

func main() { program.Main(name, start) }

func start(ctx context.Context, args []string, out io.Writer) error {
	var s settings
	if helped, err := program.Read(name, usage, args, out, &s); helped || err != nil {
		return err
	}
	o := kdump.Options{Log: run.NewLog(out, slog.LevelInfo), Elapsed: kube.Elapsed}
	if s.Sink != "" {
		to, err := sink.New(s.Options)
		if err != nil {
			return err
		}
		o.Sender = to
	}
	cfg, err := s.EKS.Or(ctx, s.Kubeconfig)
	if err != nil {
		return kube.NoCluster("KUBECONFIG", err)
	}
	return serve(ctx, s, cfg, o)
}

func serve(ctx context.Context, s settings, cfg *rest.Config, o kdump.Options) error {
	client, err := kube.New(cfg)
	if err != nil {
		return err
	}
	source, cluster, err := program.Source(ctx, client, s.Cluster)
	if err != nil {
		return err
	}
	reg := program.Registry()
	o.Cluster, o.Source, o.Registerer = client, source, reg
	l, err := kdump.New(o)
	if err != nil {
		return err
	}
	at, err := net.ResolveUDPAddr("udp", s.Kdump)
	if err != nil {
		return fmt.Errorf("read NODEFENCE_KDUMP: %w", err)
	}
	conn, err := net.ListenUDP("udp", at)
	if err != nil {
		return fmt.Errorf("hear messages at NODEFENCE_KDUMP: %w", err)
	}
	o.Log.Info("running", "cluster", cluster, "kdump", conn.LocalAddr().String(), "listen", s.Listen)
	return program.Serve(ctx, s.Listen, program.Probes(reg, l.Ready, ""), func(ctx context.Context) error { return l.Run(ctx, conn) })
}
