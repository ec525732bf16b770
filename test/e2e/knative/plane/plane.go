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

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nodefence/nodefence/test/rig"
)

// Options are the choices of Up.
type Options struct {
	// Dir takes the programs' logs and kubeconfigs.
	Dir string
	// Progress is told of what takes long.
	Progress io.Writer
}

// Plane is a running Knative Eventing.
type Plane struct {
	// Proxy is what HTTP_PROXY must be for a process that is to reach Services.
	Proxy *url.URL

	cluster   *rig.Cluster
	names     *names
	server    *http.Server
	processes []*process
}

// Up installs Knative in a lab's cluster and starts its programs. Down must be
// called also for what an error leaves: Up does so itself.
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
	p := &Plane{cluster: c, names: newNames(c.Kube)}
	p.server = newProxy(p.names)
	if err := p.start(ctx, bin, module, o.Dir); err != nil {
		p.Down()
		return nil, err
	}
	return p, nil
}

func (p *Plane) start(ctx context.Context, bin, module, dir string) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("listen for the proxy: %w", err)
	}
	p.Proxy = &url.URL{Scheme: "http", Host: l.Addr().String()}
	go func() { _ = p.server.Serve(l) }()
	for _, program := range programs {
		process, err := p.prepare(ctx, program, bin, module, dir)
		if err != nil {
			return fmt.Errorf("prepare %s: %w", program.name, err)
		}
		if err := process.start(); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, readyLimit)
	defer cancel()
	for _, process := range p.processes {
		if err := process.waitReady(ctx); err != nil {
			return err
		}
	}
	return nil
}

// prepare makes a program's namespace, account and environment.
func (p *Plane) prepare(ctx context.Context, program program, bin, module, dir string) (*process, error) {
	d, err := deployment(module, program)
	if err != nil {
		return nil, err
	}
	env, err := environment(d, func(name string) (*corev1.ConfigMap, error) {
		return p.cluster.Kube.CoreV1().ConfigMaps(Namespace).Get(ctx, name, metav1.GetOptions{})
	})
	if err != nil {
		return nil, err
	}
	kubeconfig := filepath.Join(dir, program.name+".kubeconfig")
	if err := Account(ctx, p.cluster, Namespace, d.Spec.Template.Spec.ServiceAccountName, kubeconfig); err != nil {
		return nil, err
	}
	server, err := url.Parse(p.cluster.Config.Host)
	if err != nil {
		return nil, err
	}
	process := &process{
		program: program, path: filepath.Join(bin, filepath.Base(program.source)), log: filepath.Join(dir, program.name+".log"),
		env: append(env, "KUBECONFIG="+kubeconfig, "HTTP_PROXY=http://"+proxyAddr, "HOME="+dir, "PATH="+os.Getenv("PATH")),
	}
	p.processes = append(p.processes, process)
	if program.service != "" {
		p.names.set(service{Namespace, program.service}, process.connect)
	}
	return process, process.open(server.Host, p.server)
}

// Down ends every program and its namespace.
func (p *Plane) Down() {
	for _, process := range p.processes {
		process.close()
	}
	p.processes = nil
	_ = p.server.Close()
}

// Kill ends one program as a failing machine would.
func (p *Plane) Kill(name string) error {
	process, err := p.find(name)
	if err != nil {
		return err
	}
	process.kill()
	return nil
}

// Start starts a program again and waits until it is ready.
func (p *Plane) Start(ctx context.Context, name string) error {
	process, err := p.find(name)
	if err != nil {
		return err
	}
	if err := process.start(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, readyLimit)
	defer cancel()
	return process.waitReady(ctx)
}

func (p *Plane) find(name string) (*process, error) {
	i := slices.IndexFunc(p.processes, func(q *process) bool { return q.name == name })
	if i < 0 {
		return nil, fmt.Errorf("no program %q runs", name)
	}
	return p.processes[i], nil
}

// Stand makes a Service that leads to an address on this machine.
func (p *Plane) Stand(ctx context.Context, namespace, name, addr string) error {
	p.names.set(service{namespace, name}, toAddress(addr))
	return p.cluster.Apply(ctx, fmt.Sprintf(`
apiVersion: v1
kind: Service
metadata: {name: %s, namespace: %s}
spec: {ports: [{name: http, port: 80, protocol: TCP}]}
`, name, namespace))
}

// Memory is each program's resident set in bytes.
func (p *Plane) Memory() (map[string]int64, error) {
	all := map[string]int64{}
	var errs []error
	for _, process := range p.processes {
		bytes, err := process.memory()
		all[process.name] = bytes
		errs = append(errs, err)
	}
	return all, errors.Join(errs...)
}

// Logs is the end of what each program printed.
func (p *Plane) Logs() map[string]string {
	all := map[string]string{}
	for _, process := range p.processes {
		all[process.name] = process.tail()
	}
	return all
}
