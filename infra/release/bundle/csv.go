package bundle

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/nodefence/nodefence/infra/release/manifests"
)

// version is the ClusterServiceVersion.
func (c *contents) version(v string) ([]byte, error) {
	csv := &v1alpha1.ClusterServiceVersion{}
	csv.APIVersion, csv.Kind, csv.Name = v1alpha1.SchemeGroupVersion.String(), v1alpha1.ClusterServiceVersionKind, "nodefence.v"+v
	if err := csv.Spec.Version.UnmarshalJSON([]byte(`"` + v + `"`)); err != nil {
		return nil, fmt.Errorf("version %s: %w", v, err)
	}
	csv.Annotations = map[string]string{
		"capabilities": "Basic Install", // OLM's upgrade from one version to the next was never run
		"categories":   "Cloud Provider",
		"description":  "Fences failed nodes, and proves them off before their pods start elsewhere",
		"operatorframework.io/suggested-namespace": Namespace,
		"repository": "https://github.com/nodefence/nodefence",
	}
	describe(&csv.Spec)
	var err error
	if csv.Spec.InstallStrategy, err = c.strategy(); err != nil {
		return nil, err
	}
	csv.Spec.RelatedImages = images(csv.Spec.InstallStrategy.StrategySpec.DeploymentSpecs)
	return written(csv)
}

// written is without what a ClusterServiceVersion of an API server alone has.
func written(csv *v1alpha1.ClusterServiceVersion) ([]byte, error) {
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(csv)
	if err != nil {
		return nil, err
	}
	delete(object, "status")
	return yaml.Marshal(object)
}

func describe(spec *v1alpha1.ClusterServiceVersionSpec) {
	spec.DisplayName = "nodefence"
	spec.Description = description
	spec.Keywords = []string{"fencing", "node", "STONITH", "remediation", "high availability"}
	spec.Maturity = "alpha"
	spec.MinKubeVersion = manifests.OldestKubernetes + ".0"
	spec.Provider = v1alpha1.AppLink{Name: "nodefence", URL: "https://github.com/nodefence/nodefence"}
	spec.Links = []v1alpha1.AppLink{{Name: "Pages", URL: "https://github.com/nodefence/nodefence"}}
	for _, mode := range []v1alpha1.InstallModeType{v1alpha1.InstallModeTypeOwnNamespace, v1alpha1.InstallModeTypeSingleNamespace, v1alpha1.InstallModeTypeMultiNamespace, v1alpha1.InstallModeTypeAllNamespaces} {
		// Nodes have no namespace: what fences them looks at all.
		spec.InstallModes = append(spec.InstallModes, v1alpha1.InstallMode{Type: mode, Supported: mode == v1alpha1.InstallModeTypeAllNamespaces})
	}
}

const description = `nodefence makes sure that a failed node is off, or cut off from storage or network, and proves it.
Only then it frees the node's pods and volumes to start elsewhere.

Install it into namespace nodefence-system. Before, apply Knative Eventing, and of the same release
nodefence-namespaces.yaml, nodefence-crd.yaml and nodefence-olm-rest.yaml. By kinds and Roles in the
bundle OLM would give others rights to fence; and OLM installs no admission policy, no Namespace and
no object of Knative. nodefence fences no node until a FencePolicy says so.`

// strategy has the Deployments, and what their accounts may do in the whole cluster.
func (c *contents) strategy() (s v1alpha1.NamedInstallStrategy, err error) {
	s.StrategyName = v1alpha1.InstallStrategyNameDeployment
	for _, o := range c.deployments {
		var d appsv1.Deployment
		if err := into(o, &d); err != nil {
			return s, err
		}
		anyUser(&d.Spec.Template.Spec)
		s.StrategySpec.DeploymentSpecs = append(s.StrategySpec.DeploymentSpecs, v1alpha1.StrategyDeploymentSpec{Name: d.Name, Spec: d.Spec, Label: d.Labels})
	}
	granted, err := c.granted()
	if err != nil {
		return s, err
	}
	for _, a := range c.accounts {
		rules := granted[a.GetName()]
		if len(rules) == 0 {
			return s, fmt.Errorf("%s has no ClusterRole: OLM makes no account without one", manifests.ID(a))
		}
		s.StrategySpec.ClusterPermissions = append(s.StrategySpec.ClusterPermissions, v1alpha1.StrategyDeploymentPermissions{ServiceAccountName: a.GetName(), Rules: rules})
	}
	return s, nil
}

// anyUser leaves the user to the cluster: OpenShift's SCC restricted-v2 refuses a pod that names a
// user outside of its namespace's range. Elsewhere the image names one, which is not root.
func anyUser(pod *corev1.PodSpec) {
	if pod.SecurityContext != nil {
		pod.SecurityContext.RunAsUser = nil
	}
	for _, c := range append(slices.Clone(pod.InitContainers), pod.Containers...) {
		if c.SecurityContext != nil {
			c.SecurityContext.RunAsUser = nil
		}
	}
}

// granted are the rules of each account's ClusterRoles.
func (c *contents) granted() (map[string][]rbacv1.PolicyRule, error) {
	rules := map[string][]rbacv1.PolicyRule{}
	for _, o := range c.roles {
		var r rbacv1.ClusterRole
		if err := into(o, &r); err != nil {
			return nil, err
		}
		rules[o.GetName()] = r.Rules
	}
	granted := map[string][]rbacv1.PolicyRule{}
	for _, o := range c.bindings {
		b, is := clusterBinding(o)
		more, known := rules[b.RoleRef.Name]
		if !is || !known {
			return nil, fmt.Errorf("%s binds %s, which is not there", manifests.ID(o), b.RoleRef.Name)
		}
		for _, who := range b.Subjects {
			if who.Kind != rbacv1.ServiceAccountKind || who.Namespace != Namespace {
				return nil, fmt.Errorf("%s binds %s %s: OLM gives rights to accounts of its own namespace alone", manifests.ID(o), who.Kind, who.Name)
			}
			granted[who.Name] = append(granted[who.Name], more...)
		}
	}
	return granted, nil
}

// clusterBinding reads a ClusterRoleBinding.
func clusterBinding(o manifests.Object) (b rbacv1.ClusterRoleBinding, is bool) {
	if o.GetKind() != "ClusterRoleBinding" {
		return b, false
	}
	return b, into(o, &b) == nil
}

// images are those that a cluster without a way out needs.
func images(deployments []v1alpha1.StrategyDeploymentSpec) (all []v1alpha1.RelatedImage) {
	for _, d := range deployments {
		for _, c := range d.Spec.Template.Spec.Containers {
			name, _, _ := strings.Cut(c.Image[strings.LastIndex(c.Image, "/")+1:], ":")
			one := v1alpha1.RelatedImage{Name: name, Image: c.Image}
			if !slices.Contains(all, one) {
				all = append(all, one)
			}
		}
	}
	return all
}

func into(o manifests.Object, typed metav1.Object) error {
	text, err := o.MarshalJSON()
	if err == nil {
		err = json.Unmarshal(text, typed)
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", manifests.ID(o), err)
	}
	return nil
}
