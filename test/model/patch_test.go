package model

import (
	"net/http"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// patch is a merge patch, with the preconditions that its metadata sets.
func (s *store) patch(o *object, r request, sub, hasStatus bool) answer {
	m, old := decode(r.body), decode(o.raw)
	is := old["metadata"].(fields)
	if meta, ok := m["metadata"].(fields); ok {
		for _, k := range []string{"resourceVersion", "uid"} {
			if meta[k] != nil && meta[k] != is[k] {
				return refuse(http.StatusConflict, metav1.StatusReasonConflict, "%s is another one", o.path)
			}
		}
	}
	if r.contentType == "application/strategic-merge-patch+json" {
		mergeConditions(m, old)
	}
	spec, _ := m["spec"].(fields)
	if _, ok := spec["unschedulable"]; ok {
		is["managedFields"] = []any{fields{"manager": "nodefence", "fieldsV1": fields{"f:spec": fields{"f:unschedulable": fields{}}}}}
	}
	if hasStatus && !sub {
		delete(m, "status")
	}
	return content(http.StatusOK, s.put(o.path, merge(old, m)))
}

// merge is RFC 7386.
func merge(into, patch fields) fields {
	if into == nil {
		into = fields{}
	}
	for k, v := range patch {
		switch p, ok := v.(fields); {
		case v == nil:
			delete(into, k)
		case ok:
			was, _ := into[k].(fields)
			into[k] = merge(was, p)
		default:
			into[k] = v
		}
	}
	return into
}

// mergeConditions turns a strategic patch of conditions into a plain one: it merges them by their
// type.
func mergeConditions(patch, old fields) {
	status, ok := patch["status"].(fields)
	if !ok {
		panic("the model knows strategic patches of conditions only")
	}
	was, _ := old["status"].(fields)
	all, _ := was["conditions"].([]any)
	for _, c := range status["conditions"].([]any) {
		typ := c.(fields)["type"]
		if i := slices.IndexFunc(all, func(o any) bool { return o.(fields)["type"] == typ }); i >= 0 {
			all[i] = merge(all[i].(fields), c.(fields))
		} else {
			all = append(all, c)
		}
	}
	status["conditions"] = all
}
