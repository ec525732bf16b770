// Package trusted has the table of the fields that a decision of another account trusts, and the rights of each
// account as RBAC grants them. A page and a test on a real API server are made from both.
//
// What a reader must not get wrong: the table says who may write a field, and the manifests say who has the
// right to write the whole object. Whoever has the right and is not in the table must be refused by an admission
// policy (infra/crd), which the test tries.
package trusted

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

//go:embed trusted.yaml
var table []byte

// Accounts are the accounts of nodefence's programs: nodefence-<name>.
var Accounts = []string{"gate", "isolate", "power", "cleanup", "recover", "request", "deadletter", "resync", "policystatus", "adopt", "source"}

// Others are accounts that are not nodefence's and must not lead it astray: the kubelet of the Node that a row is
// about (of node-1 where the row is about no Node), somebody with Kubernetes' role edit in namespace default, and
// NodeHealthCheck's controller.
var Others = []string{"kubelet", "tenant", "nodehealthcheck"}

// Row is one write of a field that a decision of another account trusts.
type Row struct {
	// Object is the kind, and Field the field and what becomes of it, in words.
	Object string `json:"object"`
	Field  string `json:"field"`
	// Trusted says whose decision trusts the field, and Promise the promise that the decision keeps.
	Trusted string `json:"trusted"`
	Promise string `json:"promise"`
	// By are the accounts that may write it.
	By []string `json:"by"`
	// Says are parts of the sentences with which a policy refuses an account that has the right by RBAC.
	Says []string `json:"says"`

	// Resource is group/resource or group/resource/subresource; without a group it is Kubernetes' core.
	Resource string `json:"resource"`
	// Namespace is where the objects are.
	Namespace string `json:"namespace"`
	// Names are the objects that are written, each in turn.
	Names []string `json:"names"`
	// Patch, Untaint, Create and Delete are the write. $user in a text stands for the account's user name. Untaint
	// is the key of the taint that is removed.
	Patch   map[string]any `json:"patch"`
	Untaint string         `json:"untaint"`
	Create  map[string]any `json:"create"`
	Delete  bool           `json:"delete"`
}

// Rows reads the table.
func Rows() ([]Row, error) {
	var t struct {
		Rows []Row `json:"rows"`
	}
	if err := yaml.UnmarshalStrict(table, &t); err != nil {
		return nil, fmt.Errorf("read trusted.yaml: %w", err)
	}
	return t.Rows, nil
}

// Group is the API group of Resource.
func (r Row) Group() string { group, _ := r.parts(); return group }

// Plural is the resource with its subresource, as RBAC names it.
func (r Row) Plural() string { _, plural := r.parts(); return plural }

func (r Row) parts() (group, plural string) {
	first, rest, has := strings.Cut(r.Resource, "/")
	if has && strings.Contains(first, ".") || first == "apps" || first == "batch" {
		return first, rest
	}
	return "", r.Resource
}

// Verbs are the verbs any of which is enough for the write.
func (r Row) Verbs() []string {
	switch {
	case r.Create != nil:
		return []string{"create"}
	case r.Delete:
		return []string{"delete"}
	}
	return []string{"patch", "update"}
}

// Granted is the verb by which RBAC lets an account make the write of this row; empty without one.
func (r Row) Granted(account string, rights []Right) string {
	for _, verb := range r.Verbs() {
		for _, g := range rights {
			if g.Account == account && g.Verb == verb && g.Group == r.Group() && g.Resource == r.Plural() &&
				(g.Namespace == "" || g.Namespace == r.Namespace) && (g.Name == "" || slices.Contains(r.Names, g.Name)) {
				return verb
			}
		}
	}
	return ""
}

// Right is one thing that RBAC lets an account do.
type Right struct{ Account, Namespace, Group, Resource, Verb, Name string }

// Files are the manifests with the rights of nodefence's accounts, below the folder infra.
func Files(infra string) ([]string, error) {
	files, err := filepath.Glob(filepath.Join(infra, "knative/components/*/rights.yaml"))
	return append([]string{filepath.Join(infra, "accounts/rights.yaml")}, files...), err
}

// Rights reads the rights of nodefence's accounts from the manifests, with those of every component.
func Rights(infra string) (all []Right, _ error) {
	files, err := Files(infra)
	if err != nil {
		return nil, fmt.Errorf("list manifests of rights: %w", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("read rights: %w", err)
		}
		of, err := rightsOf(text)
		if err != nil {
			return nil, fmt.Errorf("read rights of %s: %w", file, err)
		}
		all = append(all, of...)
	}
	return all, nil
}

// document is a Role, a ClusterRole, or a binding of either.
type document struct {
	Kind     string              `json:"kind"`
	Metadata metav1.ObjectMeta   `json:"metadata"`
	Rules    []rbacv1.PolicyRule `json:"rules"`
	RoleRef  rbacv1.RoleRef      `json:"roleRef"`
	Subjects []rbacv1.Subject    `json:"subjects"`
}

// rightsOf reads the bindings of one file, whose roles stand in the same file.
func rightsOf(text []byte) (all []Right, _ error) {
	docs := utilyaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096)
	roles := map[string][]rbacv1.PolicyRule{}
	var bindings []document
	for {
		var d document
		if err := docs.Decode(&d); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		if len(d.Subjects) > 0 {
			bindings = append(bindings, d)
		}
		roles[d.Kind+"/"+d.Metadata.Namespace+"/"+d.Metadata.Name] = d.Rules
	}
	for _, b := range bindings {
		for _, s := range b.Subjects {
			account, ours := strings.CutPrefix(s.Name, "nodefence-")
			if !ours || !slices.Contains(Accounts, account) {
				continue // the kdump listener, which may write its own ConfigMaps alone
			}
			for _, rule := range roles[b.RoleRef.Kind+"/"+b.Metadata.Namespace+"/"+b.RoleRef.Name] {
				all = append(all, each(account, b.Metadata.Namespace, rule)...)
			}
		}
	}
	return all, nil
}

// each splits a rule into single rights.
func each(account, namespace string, r rbacv1.PolicyRule) (all []Right) {
	names := r.ResourceNames
	if len(names) == 0 {
		names = []string{""}
	}
	for _, group := range r.APIGroups {
		for _, resource := range r.Resources {
			for _, verb := range r.Verbs {
				for _, name := range names {
					all = append(all, Right{account, namespace, group, resource, verb, name})
				}
			}
		}
	}
	return all
}
