package bundle

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"github.com/nodefence/nodefence/infra/release/manifests"
)

// version is the ClusterServiceVersion.
func (c *contents) version(s manifests.Source, v string) ([]byte, error) {
	csv := &v1alpha1.ClusterServiceVersion{}
	csv.APIVersion, csv.Kind, csv.Name = v1alpha1.SchemeGroupVersion.String(), v1alpha1.ClusterServiceVersionKind, "nodefence.v"+v
	if err := csv.Spec.Version.UnmarshalJSON([]byte(`"` + v + `"`)); err != nil {
		return nil, fmt.Errorf("version %s: %w", v, err)
	}
	examples, err := examples(filepath.Join(s.Infra, "crd/examples"))
	if err != nil {
		return nil, err
	}
	csv.Annotations = map[string]string{
		"alm-examples": examples,
		"capabilities": "Seamless Upgrades",
		"categories":   "Cloud Provider",
		"description":  "Fences failed nodes, and proves them off before their pods start elsewhere",
		"operatorframework.io/suggested-namespace": Namespace,
		"repository": "https://github.com/nodefence/nodefence",
	}
	describe(&csv.Spec)
	if csv.Spec.InstallStrategy, err = c.strategy(); err != nil {
		return nil, err
	}
	if csv.Spec.CustomResourceDefinitions.Owned, err = owned(c.kinds); err != nil {
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

Install it into namespace nodefence-system. Before, apply Knative Eventing and
nodefence-olm-rest.yaml of the same release: OLM installs no admission policy, no Namespace and no
object of Knative. nodefence fences no node until a FencePolicy says so.`

// strategy has the Deployments, and what their accounts may do.
func (c *contents) strategy() (s v1alpha1.NamedInstallStrategy, err error) {
	s.StrategyName = v1alpha1.InstallStrategyNameDeployment
	for _, o := range c.deployments {
		var d appsv1.Deployment
		if err := into(o, &d); err != nil {
			return s, err
		}
		s.StrategySpec.DeploymentSpecs = append(s.StrategySpec.DeploymentSpecs, v1alpha1.StrategyDeploymentSpec{Name: d.Name, Spec: d.Spec, Label: d.Labels})
	}
	rules := map[string][]rbacv1.PolicyRule{}
	for _, o := range c.roles {
		var r rbacv1.ClusterRole // a Role has the same fields
		if err := into(o, &r); err != nil {
			return s, err
		}
		rules[key(o.GetKind(), o.GetNamespace(), o.GetName())] = r.Rules
	}
	cluster, own := map[string][]rbacv1.PolicyRule{}, map[string][]rbacv1.PolicyRule{}
	for _, o := range c.bindings {
		b, is := binding(o)
		granted, known := rules[key(b.RoleRef.Kind, o.GetNamespace(), b.RoleRef.Name)]
		if !is || !known {
			return s, fmt.Errorf("%s binds %s %s, which is not there", manifests.ID(o), b.RoleRef.Kind, b.RoleRef.Name)
		}
		to := cluster
		if o.GetKind() == "RoleBinding" {
			to = own
		}
		for _, who := range b.Subjects {
			if who.Kind != rbacv1.ServiceAccountKind || who.Namespace != Namespace {
				return s, fmt.Errorf("%s binds %s %s: OLM gives rights to accounts of its own namespace alone", manifests.ID(o), who.Kind, who.Name)
			}
			to[who.Name] = append(to[who.Name], granted...)
		}
	}
	for _, a := range c.accounts {
		name := a.GetName()
		if len(cluster[name]) > 0 {
			s.StrategySpec.ClusterPermissions = append(s.StrategySpec.ClusterPermissions, v1alpha1.StrategyDeploymentPermissions{ServiceAccountName: name, Rules: cluster[name]})
		}
		if len(own[name]) > 0 || len(cluster[name]) == 0 {
			s.StrategySpec.Permissions = append(s.StrategySpec.Permissions, v1alpha1.StrategyDeploymentPermissions{ServiceAccountName: name, Rules: own[name]})
		}
	}
	return s, nil
}

// binding reads a RoleBinding or ClusterRoleBinding.
func binding(o manifests.Object) (b rbacv1.RoleBinding, is bool) {
	if !strings.HasSuffix(o.GetKind(), "RoleBinding") {
		return b, false
	}
	return b, into(o, &b) == nil
}

// owned are the kinds, as a console shows them.
func owned(kinds []manifests.Object) (all []v1alpha1.CRDDescription, err error) {
	for _, o := range kinds {
		var k struct {
			Spec struct {
				Names    struct{ Kind string }
				Versions []struct {
					Name   string
					Schema struct {
						OpenAPIV3Schema struct{ Description string }
					}
				}
			}
		}
		text, err := o.MarshalJSON()
		if err == nil {
			err = json.Unmarshal(text, &k)
		}
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", o.GetName(), err)
		}
		for _, v := range k.Spec.Versions {
			all = append(all, v1alpha1.CRDDescription{
				Name: o.GetName(), Version: v.Name, Kind: k.Spec.Names.Kind, DisplayName: k.Spec.Names.Kind,
				Description: strings.ReplaceAll(v.Schema.OpenAPIV3Schema.Description, "\n", " "),
			})
		}
	}
	return all, nil
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

// examples are those of infra/crd/examples, in JSON.
func examples(folder string) (string, error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
	if err != nil || len(files) == 0 {
		return "", fmt.Errorf("no examples in %s: %w", folder, err)
	}
	var all []map[string]any
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			return "", err
		}
		docs := utilyaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096)
		for {
			var o map[string]any
			if err := docs.Decode(&o); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				return "", fmt.Errorf("read %s: %w", f, err)
			}
			if api, _ := o["apiVersion"].(string); strings.HasPrefix(api, "nodefence.io/") {
				all = append(all, o)
			}
		}
	}
	text, err := json.MarshalIndent(all, "", "  ")
	return string(text), err
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
