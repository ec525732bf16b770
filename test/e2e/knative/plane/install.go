package plane

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"
	syaml "sigs.k8s.io/yaml"

	"github.com/nodefence/nodefence/test/rig"
)

// Namespace is where Knative's own objects are.
const Namespace = "knative-eventing"

// manifests are what an installation of Knative applies, in its order, as far
// as brokers and in-memory channels go. The webhooks are left out: the API
// server could not reach them.
var manifests = []string{
	"config/core/100-namespace.yaml",
	"config/core/resources/*.yaml",
	"config/channels/in-memory-channel/resources/*.yaml",
	"config/core/200-*.yaml",
	"config/core/roles/*.yaml",
	"config/brokers/mt-channel-broker/roles/*.yaml",
	"config/channels/in-memory-channel/200-*.yaml",
	"config/channels/in-memory-channel/roles/*.yaml",
	"config/core/configmaps/*.yaml",
	"config/channels/in-memory-channel/configmaps/*.yaml",
	"config/channels/in-memory-channel/webhooks/secret.yaml",
	"third_party/eventing-integrations-latest/*.yaml",
	"config/brokers/mt-channel-broker/deployments/broker-*.yaml",
	"config/brokers/mt-channel-broker/deployments/hpa.yaml",
	"config/channels/in-memory-channel/deployments/*.yaml",
}

// moduleDir is where the downloaded sources of Knative are.
func moduleDir(ctx context.Context) (string, error) {
	source, err := source()
	if err != nil {
		return "", err
	}
	return ask(ctx, source, "list", "-m", "-f", "{{.Dir}}", "knative.dev/eventing")
}

// Install applies Knative's own manifests, for tests that need its kinds alone
// and no program that serves them.
func Install(ctx context.Context, c *rig.Cluster) error {
	module, err := moduleDir(ctx)
	if err != nil {
		return err
	}
	return install(ctx, c, module)
}

// install applies Knative's own manifests. There are no containers here, so its
// programs' Deployments have no pods and its Services no selectors; readiness
// comes from Endpoints of ours.
func install(ctx context.Context, c *rig.Cluster, module string) error {
	var text bytes.Buffer
	for _, pattern := range manifests {
		files, err := filepath.Glob(filepath.Join(module, pattern))
		if err != nil || len(files) == 0 {
			return fmt.Errorf("find Knative's manifests: %s matches nothing below %s: %w", pattern, module, err)
		}
		for _, f := range files {
			objects, err := read(f)
			if err == nil {
				err = adapt(&text, objects)
			}
			if err != nil {
				return fmt.Errorf("%s: %w", f, err)
			}
		}
	}
	for i, p := range programs {
		if p.service != "" {
			text.WriteString(endpoints(p.service, i))
		}
	}
	if err := c.Apply(ctx, text.String()); err != nil {
		return fmt.Errorf("install Knative: %w", err)
	}
	return nil
}

// adapt writes objects as they can be used without containers.
func adapt(out *bytes.Buffer, objects []unstructured.Unstructured) error {
	for _, u := range objects {
		switch u.GetKind() {
		case "CustomResourceDefinition":
			unstructured.RemoveNestedField(u.Object, "spec", "conversion") // by a webhook
		case "Service":
			unstructured.RemoveNestedField(u.Object, "spec", "selector")
		case "Deployment":
			// With no replicas wanted, none missing: Kubernetes calls it available, and its
			// autoscaler leaves it alone.
			if err := unstructured.SetNestedField(u.Object, int64(0), "spec", "replicas"); err != nil {
				return err
			}
		}
		b, err := syaml.Marshal(u.Object)
		if err != nil {
			return err
		}
		out.WriteString("---\n")
		out.Write(b)
	}
	return nil
}

func read(path string) ([]unstructured.Unstructured, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return decode(b)
}

func decode(b []byte) ([]unstructured.Unstructured, error) {
	var all []unstructured.Unstructured
	docs := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(b), 4096)
	for {
		var u unstructured.Unstructured
		if err := docs.Decode(&u.Object); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, err
		}
		if u.Object != nil {
			all = append(all, u)
		}
	}
}

// endpoints say that something stands behind a Service. Nobody connects to the
// address, which is of the range for benchmarks: loopback is refused.
func endpoints(service string, n int) string {
	return fmt.Sprintf(`---
apiVersion: v1
kind: Endpoints
metadata: {name: %s, namespace: %s}
subsets:
  - addresses: [{ip: 198.18.0.%d}]
    ports: [{name: http, port: 8080, protocol: TCP}]
`, service, Namespace, n+1)
}

// deployment is the one in a file of manifests.
func deployment(path string) (*appsv1.Deployment, error) {
	objects, err := read(path)
	if err != nil {
		return nil, err
	}
	all, err := deployments(objects)
	if err != nil {
		return nil, err
	}
	if len(all) != 1 {
		return nil, fmt.Errorf("%s has %d Deployments, not one", path, len(all))
	}
	return all[0], nil
}

func deployments(objects []unstructured.Unstructured) ([]*appsv1.Deployment, error) {
	var all []*appsv1.Deployment
	for _, u := range objects {
		if u.GetKind() != "Deployment" {
			continue
		}
		var d appsv1.Deployment
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &d); err != nil {
			return nil, fmt.Errorf("read Deployment %s: %w", u.GetName(), err)
		}
		all = append(all, &d)
	}
	return all, nil
}

// Deploy applies manifests as they can be used without containers, and returns
// the Deployments that are to run as processes.
func (p *Plane) Deploy(ctx context.Context, manifests []byte) ([]*appsv1.Deployment, error) {
	objects, err := decode(manifests)
	if err != nil {
		return nil, fmt.Errorf("read manifests: %w", err)
	}
	all, err := deployments(objects)
	if err != nil {
		return nil, err
	}
	var text bytes.Buffer
	if err := adapt(&text, objects); err != nil {
		return nil, err
	}
	return all, p.cluster.Apply(ctx, text.String())
}
