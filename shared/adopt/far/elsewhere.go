package far

import "strings"

// NotCounted is what an object says whose namespace is not one of these, in which objects count.
func NotCounted(namespaces []string) Event {
	return Event{Warning: true, Reason: "NamespaceDoesNotCount", Message: "nodefence does nothing about it: its namespace is not one of those in which it adopts objects (" +
		strings.Join(namespaces, ",") + "): NODEFENCE_ADOPT_NAMESPACES names them, and NODEFENCE_REQUEST_NAMESPACES must have them too"}
}
