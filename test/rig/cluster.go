package rig

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/nodefence/nodefence/shared/kube"
)

// Cluster is a person's view of a lab's API server.
type Cluster struct {
	Lab    *Lab
	Config *rest.Config
	Kube   kubernetes.Interface
	// Fences reads nodefence's own objects.
	Fences *kube.Client
	// NodeNetworks has the addresses of the nodes, for processes that StartProcess starts; Loopback if empty.
	NodeNetworks string
	// installed means that Install has nothing to do.
	installed bool
}

// Connect reaches the lab's API server.
func Connect(l *Lab) (*Cluster, error) {
	cfg, err := clientcmd.BuildConfigFromFlags("", l.Kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("read kubeconfig: %w", err)
	}
	cfg.QPS, cfg.Burst = 200, 400
	k, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return nil, err
	}
	f, err := kube.New(cfg)
	if err != nil {
		return nil, err
	}
	return &Cluster{Lab: l, Config: cfg, Kube: k, Fences: f}, nil
}

// Install applies infra/namespaces and infra/crd, and waits until the kinds are served. The labs
// of a Pool have all of that.
func (c *Cluster) Install(ctx context.Context) error {
	if c.installed {
		return nil
	}
	root, err := Root()
	if err != nil {
		return err
	}
	files, err := filepath.Glob(filepath.Join(root, "infra/crd/*.yaml"))
	if err != nil {
		return err
	}
	files = append([]string{filepath.Join(root, "infra/namespaces/namespaces.yaml")}, files...)
	for _, f := range files {
		if filepath.Base(f) == "kustomization.yaml" {
			continue
		}
		if err := c.ApplyFile(ctx, f); err != nil {
			return err
		}
	}
	return Until(ctx, "nodefence's kinds to be served", func() (bool, error) {
		_, err := c.Fences.Policies(ctx)
		_, err2 := c.Fences.Fences(ctx)
		_, err3 := c.Fences.Ledger(ctx)
		return err == nil && err2 == nil && err3 == nil, nil
	})
}

// Apply creates or replaces every object of a YAML text, as kubectl apply
// --server-side does.
func (c *Cluster) Apply(ctx context.Context, text string) error { return c.ApplyAs(ctx, "rig", text) }

// ApplyAs is Apply under another field manager, which takes over the fields in the text and no
// others.
func (c *Cluster) ApplyAs(ctx context.Context, manager, text string) error {
	dyn, err := dynamic.NewForConfig(c.Config)
	if err != nil {
		return err
	}
	groups, err := restmapper.GetAPIGroupResources(c.Kube.Discovery())
	if err != nil {
		return fmt.Errorf("discover kinds: %w", err)
	}
	mapper := restmapper.NewDiscoveryRESTMapper(groups)
	docs := yaml.NewYAMLOrJSONDecoder(bytes.NewBufferString(text), 4096)
	for {
		var u unstructured.Unstructured
		if err := docs.Decode(&u); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("read YAML: %w", err)
		}
		if u.Object == nil {
			continue
		}
		if err := applyOne(ctx, dyn, mapper, manager, &u); err != nil {
			return err
		}
	}
}

func applyOne(ctx context.Context, dyn dynamic.Interface, mapper meta.RESTMapper, manager string, u *unstructured.Unstructured) error {
	gvk := u.GroupVersionKind()
	m, err := mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if err != nil {
		return fmt.Errorf("apply %s %s: %w", gvk.Kind, u.GetName(), err)
	}
	var r dynamic.ResourceInterface = dyn.Resource(m.Resource)
	if m.Scope.Name() == meta.RESTScopeNameNamespace {
		ns := u.GetNamespace()
		if ns == "" {
			ns = metav1.NamespaceDefault
		}
		r = dyn.Resource(m.Resource).Namespace(ns)
	}
	_, err = r.Apply(ctx, u.GetName(), u, metav1.ApplyOptions{FieldManager: manager, Force: true})
	if err != nil {
		return fmt.Errorf("apply %s %s: %w", gvk.Kind, u.GetName(), err)
	}
	return nil
}

// Until waits for a condition. It asks ten times a second and ends with ctx.
func Until(ctx context.Context, what string, ok func() (bool, error)) error {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		done, err := ok()
		if err != nil {
			return fmt.Errorf("wait for %s: %w", what, err)
		}
		if done {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for %s: %w", what, ctx.Err())
		case <-tick.C:
		}
	}
}

// Bind writes each machine's fence-config ConfigMap and Secret: how a user
// tells nodefence which BMC belongs to which node.
func (c *Cluster) Bind(ctx context.Context, machines map[string]Machine) error {
	for _, m := range machines {
		if err := c.BindOne(ctx, m); err != nil {
			return err
		}
	}
	return nil
}

// BindOne writes one machine's binding.
func (c *Cluster) BindOne(ctx context.Context, m Machine) error {
	host, port, err := net.SplitHostPort(m.BMC)
	if err != nil {
		return fmt.Errorf("BMC of %s: %w", m.Name, err)
	}
	cm := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "fence-config-node-" + m.Name, Namespace: "nodefence-system"},
		Data: map[string]string{
			"config.properties": "node_name=" + m.Name + "\nisolation=mark-unschedulable\npower_management=bmc-off\nrecovery=bmc-on mark-schedulable\n",
			"fence-method-bmc-off": "agent_name=fence-ipmilan\naction=off\nip=" + host + "\nipport=" + port +
				"\nlanplus=1\nusername=" + m.Username + "\nsecret=bmc-" + m.Name + "\n",
			"fence-method-bmc-on": "agent_name=fence-ipmilan\naction=on\nip=" + host + "\nipport=" + port +
				"\nlanplus=1\nusername=" + m.Username + "\nsecret=bmc-" + m.Name + "\n",
		},
	}
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Name: "bmc-" + m.Name, Namespace: "nodefence-devices", Annotations: map[string]string{"nodefence.io/hosts": host},
		},
		StringData: map[string]string{"password": m.Password},
	}
	if _, err := c.Kube.CoreV1().ConfigMaps(cm.Namespace).Create(ctx, cm, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	if _, err := c.Kube.CoreV1().Secrets(secret.Namespace).Create(ctx, secret, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	return nil
}

// ApplyFile applies a file.
func (c *Cluster) ApplyFile(ctx context.Context, path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := c.Apply(ctx, string(text)); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}
