package plane

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nodefence/nodefence/test/rig/port"
)

// Workload is a Deployment that runs as a process on this machine, outside of
// any namespace: it reaches what this machine reaches, such as a lab's BMCs.
type Workload struct {
	Deployment *appsv1.Deployment
	// Path is the program in place of the image.
	Path string
	// Listen names the variable that says where to listen, and how it is said.
	Listen func(port int) string
	// Env is added, as a SinkBinding would.
	Env []string
	// Ready is the path that a kubelet would ask.
	Ready string
}

// Run starts a workload and waits until it is ready. It is called by its
// Deployment's name, and so is the Service that leads to it, if there is one.
func (p *Plane) Run(ctx context.Context, w Workload) error {
	q, err := p.process(ctx, w.Deployment)
	if err != nil {
		return fmt.Errorf("prepare %s: %w", w.Deployment.Name, err)
	}
	port, err := freePort()
	if err != nil {
		return err
	}
	q.path, q.ready, q.home, q.addr = w.Path, w.Ready, p.outside, fmt.Sprintf("127.0.0.1:%d", port)
	q.env = append(append(q.env, "HTTP_PROXY="+p.Proxy.String(), w.Listen(port)), w.Env...)
	p.names.set(service{w.Deployment.Namespace, w.Deployment.Name}, q.dial)
	if err := q.start(); err != nil {
		return err
	}
	return q.waitReady(ctx)
}

func freePort() (int, error) {
	addr, err := port.Free()
	if err != nil {
		return 0, err
	}
	_, number, err := net.SplitHostPort(addr)
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(number)
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

// Address is where a workload listens on this machine.
func (p *Plane) Address(name string) (string, error) {
	q, err := p.find(name)
	if err != nil {
		return "", err
	}
	return q.addr, nil
}

// Divert leads a workload's Service to another address until back is called.
func (p *Plane) Divert(namespace, name, addr string) (back func(), err error) {
	q, err := p.find(name)
	if err != nil {
		return nil, err
	}
	s := service{namespace, name}
	p.names.set(s, toAddress(addr))
	return func() { p.names.set(s, q.dial) }, nil
}

// environment is what the Deployment's first container would find.
func (p *Plane) environment(ctx context.Context, d *appsv1.Deployment) ([]string, error) {
	var env []string
	for _, e := range d.Spec.Template.Spec.Containers[0].Env {
		value, err := p.value(ctx, d, e)
		if err != nil {
			return nil, fmt.Errorf("variable %s of %s: %w", e.Name, d.Name, err)
		}
		env = append(env, e.Name+"="+value)
	}
	return env, nil
}

func (p *Plane) value(ctx context.Context, d *appsv1.Deployment, e corev1.EnvVar) (string, error) {
	switch from := e.ValueFrom; {
	case from == nil:
		return e.Value, nil
	case from.FieldRef != nil && from.FieldRef.FieldPath == "metadata.namespace":
		return d.Namespace, nil
	case from.FieldRef != nil && from.FieldRef.FieldPath == "metadata.name":
		return d.Name + "-0", nil
	case from.FieldRef != nil && from.FieldRef.FieldPath == "spec.nodeName":
		return "none", nil // this machine is no node of the cluster
	case from.ConfigMapKeyRef != nil:
		cm, err := p.cluster.Kube.CoreV1().ConfigMaps(d.Namespace).Get(ctx, from.ConfigMapKeyRef.Name, metav1.GetOptions{})
		if err != nil {
			return "", err
		}
		return cm.Data[from.ConfigMapKeyRef.Key], nil
	}
	return "", errors.New("it comes from where only a kubelet could look")
}
