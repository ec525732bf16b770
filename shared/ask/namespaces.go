package ask

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// Namespaces are those whose FenceRequests count.
type Namespaces []string

// Decode reads them from the environment, divided by commas.
func (n *Namespaces) Decode(value string) error {
	*n = nil
	for s := range strings.SplitSeq(value, ",") {
		if s = strings.TrimSpace(s); s == "" || slices.Contains(*n, s) {
			continue
		}
		if len(validation.IsDNS1123Label(s)) > 0 {
			return fmt.Errorf("%q is not the name of a namespace, such as nodefence-system", s)
		}
		*n = append(*n, s)
	}
	return nil
}

// Has tells whether a namespace's FenceRequests count.
func (n Namespaces) Has(namespace string) bool { return slices.Contains(n, namespace) }
