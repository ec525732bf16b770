package far

import "strings"

// NotCounted is what an object or a template says whose namespace is not one of these, in which objects
// count. NodeHealthCheck makes the objects of a template in the template's namespace.
func NotCounted(kind string, namespaces []string) Event {
	nothing := "nodefence does nothing about it: its namespace is not one"
	if kind == TemplateKind {
		nothing = "nodefence does nothing about the objects that are made of it: their namespace is not one"
	}
	return Event{Warning: true, Reason: "NamespaceDoesNotCount", Message: nothing + " of those in which it adopts objects (" +
		strings.Join(namespaces, ",") + "): NODEFENCE_ADOPT_NAMESPACES names them, and NODEFENCE_REQUEST_NAMESPACES must have them too"}
}
