package bringup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"

	"k8s.io/client-go/kubernetes"

	"github.com/nodefence/nodefence/test/lab/kubebuild"
	"github.com/nodefence/nodefence/test/lab/labdir"
	"github.com/nodefence/nodefence/test/lab/pki"
	"github.com/nodefence/nodefence/test/lab/process"
	"github.com/nodefence/nodefence/test/lab/real"
)

// ControlPlane and Machines are the processes of a lab.
const (
	ControlPlane = "control-plane"
	Machines     = "machines"
)

// starting is a lab on its way up.
type starting struct {
	options  Options
	progress io.Writer
	dir      labdir.Dir
	record   labdir.Record
	// ended gets the first process that ends, which none should.
	ended    chan error
	programs programs
}

// programs are the executables of a lab; those of real machines are empty without such.
type programs struct{ kube, node, agent string }

// build returns the programs that a lab needs, and builds them first if the cache does not have them.
func build(ctx context.Context, options Options, progress io.Writer) (p programs, err error) {
	if p.kube, err = kubebuild.Ensure(ctx, progress); err != nil || !options.Real {
		return p, err
	}
	if p.node, err = kubebuild.EnsureNode(ctx, progress); err != nil {
		return p, err
	}
	p.agent, err = kubebuild.EnsureAgent(ctx, progress)
	return p, err
}

// Up starts a lab and returns when it can be used. If that fails, or if ctx ends first, it ends
// what it has started.
func Up(ctx context.Context, options Options, progress io.Writer) (labdir.Record, error) {
	if err := errors.Join(labdir.CheckName(options.Name), options.check()); err != nil {
		return labdir.Record{}, err
	}
	if err := labdir.CheckFree(options.Name); err != nil {
		return labdir.Record{}, err
	}
	if options.Real {
		if err := real.Check(); err != nil {
			return labdir.Record{}, err
		}
	}
	// This comes before the name is claimed: it may take minutes, and leaves nothing to clean up.
	programs, err := build(ctx, options, progress)
	if err != nil {
		return labdir.Record{}, err
	}
	dir, record, err := labdir.Claim(ctx, options.Name, func(dir labdir.Dir) error { return real.Clean(ctx, layout(dir)) })
	if err != nil {
		return labdir.Record{}, err
	}
	s := &starting{options: options, progress: progress, dir: dir, record: record, ended: make(chan error, 2), programs: programs}
	if err := s.up(ctx); err != nil {
		return labdir.Record{}, errors.Join(err, end(context.WithoutCancel(ctx), dir, s.record))
	}
	return s.record, nil
}

func (s *starting) up(ctx context.Context) error {
	start := s.startControlPlane
	if s.options.Real {
		start = s.startRealControlPlane
	}
	if err := start(ctx); err != nil {
		return err
	}
	client, err := s.answers(ctx)
	if err != nil {
		return err
	}
	return s.addNodes(ctx, client)
}

// addNodes starts the machines and returns when their nodes and pods can be used.
func (s *starting) addNodes(ctx context.Context, client kubernetes.Interface) error {
	if err := s.addMachines(ctx, client); err != nil {
		return err
	}
	if err := s.wait(ctx, "default service account", apiLimit, serviceAccountExists(client)); err != nil {
		return err
	}
	if err := s.wait(ctx, fmt.Sprintf("%d nodes", s.options.Nodes), s.options.readyLimit(), nodesReady(client, s.options.Nodes)); err != nil {
		return err
	}
	s.record.Ready = true
	return s.dir.Save(s.record)
}

// addMachines starts the machines. Simulated ones need rights that a role binding gives; real ones have those of kubelets.
func (s *starting) addMachines(ctx context.Context, client kubernetes.Interface) error {
	switch {
	case s.options.Real:
		return s.startRealMachines()
	case s.options.Nodes == 0:
		return nil
	}
	if err := allowMachines(ctx, client); err != nil {
		return err
	}
	if err := s.wait(ctx, "machines' rights", apiLimit, machinesAllowed(client)); err != nil {
		return err
	}
	return s.startMachines()
}

func (s *starting) startControlPlane(context.Context) error {
	socket, port, err := listen("127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("find free port: %w", err)
	}
	defer socket.Close()

	if err := s.configure("127.0.0.1", port); err != nil {
		return err
	}
	return s.runControlPlane(s.programs.kube, socket)
}

// realPort is the API server's in the network of real machines, where nobody else takes it.
const realPort = 6443

// startRealControlPlane makes the network of real machines, and starts the control plane in it.
func (s *starting) startRealControlPlane(ctx context.Context) error {
	l := layout(s.dir)
	if err := real.MakeSwitch(ctx, l, s.options.Nodes); err != nil {
		return err
	}
	s.record.Real = true
	if err := s.configure(l.ControlPlane().String(), realPort); err != nil {
		return err
	}
	path, args := l.InSwitch(s.programs.kube, "all", controlPlaneFile(s.dir))
	return s.start(ControlPlane, process.Spec{Path: path, Args: args, Env: collectLess(s.options.Nodes)})
}

// configure writes keys and the configuration of the control plane.
func (s *starting) configure(address string, port int) error {
	s.record.Server = fmt.Sprintf("https://%s:%d", address, port)
	s.record.Kubeconfig = adminKubeconfig(s.dir)
	s.record.Nodes = s.options.Nodes
	if err := pki.Write(keyFolder(s.dir).dir, plan(s.dir, s.options, s.record.Server)); err != nil {
		return err
	}
	return writeControlPlaneConfig(s.dir, s.options, address, port)
}

// listen takes a port for the control plane, which inherits the open socket: so the
// port stays ours from the moment that it was found free.
func listen(addr string) (socket *os.File, port int, err error) {
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, 0, err
	}
	defer listener.Close()
	socket, err = listener.(*net.TCPListener).File()
	return socket, listener.Addr().(*net.TCPAddr).Port, err
}

// answers waits for the API server.
func (s *starting) answers(ctx context.Context) (kubernetes.Interface, error) {
	client, err := newClient(s.record.Kubeconfig)
	if err != nil {
		return nil, err
	}
	return client, s.wait(ctx, "API server", apiLimit, apiReady(client))
}

// collectLess has the control plane collect garbage less often than Go does by itself, up to 768 MiB
// and 1 MiB for each node. Where a whole cluster shares two cores, more than a quarter of its CPU went
// into that. What 5,000 nodes need is more than 768 MiB, so that it would collect all the time.
func collectLess(nodes int) []string {
	return []string{"GOGC=300", fmt.Sprintf("GOMEMLIMIT=%dMiB", 768+nodes)}
}

func (s *starting) runControlPlane(kube string, socket *os.File) error {
	return s.start(ControlPlane, process.Spec{Path: kube, Args: []string{"all", controlPlaneFile(s.dir)}, Env: collectLess(s.options.Nodes), Inherit: []*os.File{socket}})
}

func (s *starting) startMachines() error {
	config, err := writeMachinesConfig(s.dir, s.options)
	if err != nil {
		return err
	}
	return s.runMachines("machines", config)
}

func (s *starting) startRealMachines() error {
	config, err := writeRealConfig(s.dir, s.options, s.programs)
	if err != nil {
		return err
	}
	return s.runMachines("real", "machines", config)
}

// runMachines runs one of this program's own commands.
func (s *starting) runMachines(command ...string) error {
	exe, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find own executable: %w", err)
	}
	return s.start(Machines, process.Spec{Path: exe, Args: command})
}

// start records the process before anything else is done.
func (s *starting) start(name string, spec process.Spec) error {
	spec.Dir = s.dir.Path
	spec.Log = s.dir.File(name + ".log")
	started, err := process.Start(spec)
	if err != nil {
		return err
	}
	s.record.Set(labdir.Process{Name: name, ID: started.ID, Log: spec.Log})
	go func() {
		err := <-started.Ended
		s.ended <- fmt.Errorf("%s ended early (%v), its log ends with:\n%s", name, err, tail(spec.Log))
	}()
	return s.dir.Save(s.record)
}
