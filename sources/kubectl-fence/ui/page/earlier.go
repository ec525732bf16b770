package page

import (
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/sources/kubectl-fence/view"
)

// mostEarlier bounds the earlier fences on the page of a node.
const mostEarlier = 20

// earlier are the fences of a node that are over and no longer in its record, the latest first.
func (l *Look) earlier(name string) []view.Past {
	recorded := ""
	if f := l.Fence(name); f != nil {
		recorded = api.ReportName(f.UID, f.Status.FenceNumber)
	}
	var of []api.FenceReport
	for i := range l.Reports { // by index: a report is large, and there may be thousands
		if r := &l.Reports[i]; r.Spec.NodeName == name && r.Name != recorded {
			of = append(of, *r)
		}
	}
	past := view.History(of, nil, name)
	return past[:min(len(past), mostEarlier)]
}
