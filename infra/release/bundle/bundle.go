package bundle

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/nodefence/nodefence/infra/release/archive"
	"github.com/nodefence/nodefence/infra/release/manifests"
)

// Namespace is the one that the bundle is to be installed into: the admission policies name the
// accounts there.
const Namespace = "nodefence-system"

// installed are the kinds that OLM installs from a bundle besides those that the
// ClusterServiceVersion has itself.
var installed = []string{"ClusterRole", "Service", "PodDisruptionBudget", "ConfigMap"}

// Bundle is what `make release` writes for OLM.
type Bundle struct {
	// Files are the bundle's, by path: manifests, metadata, and a Dockerfile of its image.
	Files archive.Files
	// Rest are the overlay's objects that are applied beside it: OLM installs them not at all, or with
	// wider rights. Namespaces and kinds are files of their own, as for every installation.
	Rest []manifests.Object
}

// Make is the bundle of one version, such as 0.1.0.
func Make(s manifests.Source, version string) (*Bundle, error) {
	objects, err := s.Platform("deployments")
	if err != nil {
		return nil, err
	}
	c := split(objects)
	csv, err := c.version(version)
	if err != nil {
		return nil, err
	}
	b := &Bundle{Files: archive.Files{"bundle.Dockerfile": []byte(dockerfile), "metadata/annotations.yaml": []byte(annotations)}, Rest: c.rest}
	b.Files["manifests/nodefence.clusterserviceversion.yaml"] = csv
	for _, o := range c.others {
		o = *o.DeepCopy()
		o.SetNamespace("") // OLM's
		text, err := yaml.Marshal(o.Object)
		if err != nil {
			return nil, fmt.Errorf("write %s %s: %w", o.GetKind(), o.GetName(), err)
		}
		b.Files[path.Join("manifests", strings.ToLower(o.GetKind())+"-"+o.GetName()+".yaml")] = text
	}
	return b, nil
}

// contents are all objects, by where they go.
type contents struct {
	deployments, accounts, roles, bindings, others, rest []manifests.Object
}

// split leaves Roles and RoleBindings to the rest: OLM gives a Role's rights in every namespace that
// the OperatorGroup selects (S20).
func split(all []manifests.Object) *contents {
	c := &contents{}
	bound := boundRoles(all)
	for _, o := range all {
		here := o.GetNamespace() == Namespace
		switch kind := o.GetKind(); {
		case kind == "Deployment" && here:
			c.deployments = append(c.deployments, o)
		case kind == "ServiceAccount" && here:
			c.accounts = append(c.accounts, o)
		case kind == "ClusterRole" && bound[o.GetName()]:
			c.roles = append(c.roles, o)
		case kind == "ClusterRoleBinding":
			c.bindings = append(c.bindings, o)
		case slices.Contains(installed, kind) && (here || o.GetNamespace() == "") && o.GroupVersionKind().Group != "serving.knative.dev":
			c.others = append(c.others, o)
		default:
			c.rest = append(c.rest, o)
		}
	}
	return c
}

// boundRoles are the ClusterRoles that an account has in the whole cluster.
func boundRoles(all []manifests.Object) map[string]bool {
	bound := map[string]bool{}
	for _, o := range all {
		if b, is := clusterBinding(o); is {
			bound[b.RoleRef.Name] = true
		}
	}
	return bound
}

const dockerfile = `FROM scratch
LABEL operators.operatorframework.io.bundle.mediatype.v1=registry+v1
LABEL operators.operatorframework.io.bundle.manifests.v1=manifests/
LABEL operators.operatorframework.io.bundle.metadata.v1=metadata/
LABEL operators.operatorframework.io.bundle.package.v1=nodefence
LABEL operators.operatorframework.io.bundle.channels.v1=candidate
LABEL operators.operatorframework.io.bundle.channel.default.v1=candidate
COPY manifests /manifests/
COPY metadata /metadata/
`

const annotations = `annotations:
  operators.operatorframework.io.bundle.mediatype.v1: registry+v1
  operators.operatorframework.io.bundle.manifests.v1: manifests/
  operators.operatorframework.io.bundle.metadata.v1: metadata/
  operators.operatorframework.io.bundle.package.v1: nodefence
  operators.operatorframework.io.bundle.channels.v1: candidate
  operators.operatorframework.io.bundle.channel.default.v1: candidate
`
