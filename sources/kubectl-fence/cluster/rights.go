package cluster

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// cannot is what the API server says that somebody may not do: a verb, of a resource or a path.
var cannot = regexp.MustCompile(`cannot (\S+) (?:resource "([^"]+)" in API group "([^"]*)"(?: in the namespace "([^"]+)")?|path "([^"]+)")`)

// forbidden names the role that has the right. The admission policies of infra/crd name the
// right themselves.
func forbidden(message string) error {
	if _, says, ok := strings.Cut(message, denied); ok {
		says, role := oneLine(says), "nodefence-operate"
		if strings.Contains(says, "the verb confirm ") {
			role = "nodefence-administer"
		}
		return fmt.Errorf("%s; have an administrator bind you ClusterRole %s", says, role)
	}
	words := "you may not do that: " + oneLine(strings.TrimSuffix(message, "."))
	m := cannot.FindStringSubmatch(message)
	switch {
	case m == nil: // another program than the API server's own has refused it
		return fmt.Errorf("%s; have an administrator give you the right", words)
	case m[5] != "":
		return fmt.Errorf("%s; have an administrator bind you a role: one with %s of path %s", words, m[1], m[5])
	}
	return fmt.Errorf("%s; have an administrator bind you a role: %s", words, roleFor(m[1], m[2], m[3], m[4]))
}

// ownRoles are the roles of infra/people that have rights to nodefence's own kinds, besides reading them.
var ownRoles = map[string]string{
	"patch nodefences": "nodefence-operate", "patch fencepolicies": "nodefence-administer", "patch fenceledgers": "nodefence-administer",
	"create fencerequests": "nodefence-ask and nodefence-operate", "delete fencerequests": "nodefence-ask and nodefence-operate",
}

// roleFor is the role that has a right: one of infra/people, or in words what it must have.
func roleFor(verb, resource, group, namespace string) string {
	reads, own := slices.Contains([]string{"get", "list", "watch"}, verb), group == api.GroupVersion.Group
	switch role := ownRoles[verb+" "+resource]; {
	case own && reads:
		return "nodefence-view"
	case own && role != "":
		return role
	case group == "" && reads && (resource == "nodes" || resource == "pods"): // the page follows them
		return "one with get, list and watch of " + resource
	}
	if group != "" {
		resource += "." + group
	}
	words := fmt.Sprintf("one with %s of %s", verb, resource)
	if namespace != "" {
		words += " in namespace " + namespace
	}
	return words
}
