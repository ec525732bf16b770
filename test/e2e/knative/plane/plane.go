package plane

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/nodefence/nodefence/test/rig"
)

// Options are the choices of Up.
type Options struct {
	// Dir takes the logs and kubeconfigs.
	Dir string
	// Progress is told of what takes long.
	Progress io.Writer
}

// Plane is a running Knative Eventing.
type Plane struct {
	// Proxy is what HTTP_PROXY must be for a process outside the namespaces
	// that is to reach Services.
	Proxy *url.URL

	cluster   *rig.Cluster
	dir       string
	names     *names
	server    *http.Server
	outside   *thread
	networks  []*network
	processes []*process
}

// Up installs Knative in a lab's cluster and starts its programs. After an
// error nothing is left to take down.
func Up(ctx context.Context, c *rig.Cluster, o Options) (*Plane, error) {
	if err := Missing(); err != nil {
		return nil, err
	}
	bin, err := build(ctx, o.Progress)
	if err != nil {
		return nil, err
	}
	module, err := moduleDir(ctx)
	if err != nil {
		return nil, err
	}
	if err := install(ctx, c, module); err != nil {
		return nil, err
	}
	p := &Plane{cluster: c, dir: o.Dir, names: newNames(c.Kube)}
	p.server = newProxy(p.names)
	if p.outside, err = newThread(stay); err != nil {
		return nil, err
	}
	if err := p.start(ctx, bin, module); err != nil {
		p.Down()
		return nil, err
	}
	return p, nil
}

func (p *Plane) start(ctx context.Context, bin, module string) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("listen for the proxy: %w", err)
	}
	p.Proxy = &url.URL{Scheme: "http", Host: l.Addr().String()}
	go func() { _ = p.server.Serve(l) }()
	for _, program := range programs {
		process, err := p.prepare(ctx, program, bin, module)
		if err != nil {
			return fmt.Errorf("prepare %s: %w", program.name, err)
		}
		if err := process.start(); err != nil {
			return err
		}
	}
	for _, process := range p.processes {
		if err := process.waitReady(ctx); err != nil {
			return err
		}
	}
	return nil
}

// prepare makes a program's namespace, account and environment.
func (p *Plane) prepare(ctx context.Context, program program, bin, module string) (*process, error) {
	d, err := deployment(filepath.Join(module, "config", program.manifest))
	if err != nil {
		return nil, err
	}
	server, err := url.Parse(p.cluster.Config.Host)
	if err != nil {
		return nil, err
	}
	n, err := newNetwork(server.Host, p.server)
	if err != nil {
		return nil, err
	}
	p.networks = append(p.networks, n)
	process, err := p.process(ctx, d)
	if err != nil {
		return nil, err
	}
	process.name, process.args, process.ready = program.name, program.args, program.ready
	process.path = filepath.Join(bin, filepath.Base(program.source))
	process.home, process.addr = n.thread, programAddr
	process.env = append(process.env, "HTTP_PROXY=http://"+proxyAddr)
	if program.service != "" {
		p.names.set(service{Namespace, program.service}, process.dial)
	}
	return process, nil
}

// process is one with a Deployment's environment and account.
func (p *Plane) process(ctx context.Context, d *appsv1.Deployment) (*process, error) {
	env, err := p.environment(ctx, d)
	if err != nil {
		return nil, err
	}
	kubeconfig := filepath.Join(p.dir, d.Name+".kubeconfig")
	if err := p.account(ctx, d.Namespace, d.Spec.Template.Spec.ServiceAccountName, kubeconfig); err != nil {
		return nil, err
	}
	q := &process{
		name: d.Name, log: filepath.Join(p.dir, d.Name+".log"),
		env: append(env, "KUBECONFIG="+kubeconfig, "HOME="+p.dir, "PATH="+os.Getenv("PATH")),
	}
	p.processes = append(p.processes, q)
	return q, nil
}

// Down ends every process and every namespace.
func (p *Plane) Down() {
	for _, q := range p.processes {
		q.kill()
	}
	for _, n := range p.networks {
		n.close()
	}
	p.processes, p.networks = nil, nil
	p.outside.end()
	_ = p.server.Close()
}

// Kill ends one process as a failing machine would.
func (p *Plane) Kill(name string) error {
	q, err := p.find(name)
	if err != nil {
		return err
	}
	q.kill()
	return nil
}

// Start starts a process again and waits until it is ready.
func (p *Plane) Start(ctx context.Context, name string) error {
	q, err := p.find(name)
	if err != nil {
		return err
	}
	if err := q.start(); err != nil {
		return err
	}
	return q.waitReady(ctx)
}

func (p *Plane) find(name string) (*process, error) {
	i := slices.IndexFunc(p.processes, func(q *process) bool { return q.name == name })
	if i < 0 {
		return nil, fmt.Errorf("there is no process %q", name)
	}
	return p.processes[i], nil
}

// Memory is the resident set in bytes of each of Knative's programs.
func (p *Plane) Memory() (map[string]int64, error) {
	all := map[string]int64{}
	var errs []error
	for _, program := range programs {
		q, err := p.find(program.name)
		if err != nil {
			return nil, err
		}
		all[q.name], err = q.memory()
		errs = append(errs, err)
	}
	return all, errors.Join(errs...)
}
