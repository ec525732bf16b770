package kube

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestDeleteAsSeen: only the version that was looked at is deleted.
func TestDeleteAsSeen(t *testing.T) {
	for name, c := range map[string]struct {
		do   func(ctx context.Context, c *Client) error
		path string
	}{
		"ConfigMap": {func(ctx context.Context, c *Client) error { return c.DeleteConfigMap(ctx, "n", "a", "u", "7") }, "/api/v1/namespaces/n/configmaps/a"},
		"Node":      {func(ctx context.Context, c *Client) error { return c.DeleteNode(ctx, "a", "u", "7") }, "/api/v1/nodes/a"}, // S6
		"NodeFence": {func(ctx context.Context, c *Client) error { return c.DeleteFence(ctx, "a", "u", "7") }, "/apis/nodefence.io/v1alpha1/nodefences/a"},
	} {
		for _, answer := range []struct {
			code            int
			reason          metav1.StatusReason
			conflict, fails bool
		}{
			{http.StatusOK, "", false, false},
			{http.StatusNotFound, metav1.StatusReasonNotFound, false, false},
			{http.StatusConflict, metav1.StatusReasonConflict, true, true},
			{http.StatusForbidden, metav1.StatusReasonForbidden, false, true},
		} {
			t.Run(fmt.Sprintf("%s %d", name, answer.code), func(t *testing.T) {
				var asked []string
				f := newFakeAPI(t)
				f.answer[c.path] = func(w http.ResponseWriter, r request) {
					var o metav1.DeleteOptions
					_ = json.Unmarshal([]byte(r.Body), &o)
					asked = append(asked, fmt.Sprintf("%s %s %s %s", r.Method, r.Path, *o.Preconditions.UID, *o.Preconditions.ResourceVersion))
					refuse(w, answer.code, string(answer.reason))
				}
				err := c.do(t.Context(), f.Client)
				if (err != nil) != answer.fails || errors.Is(err, ErrConflict) != answer.conflict {
					t.Error(err)
				}
				if d := cmp.Diff([]string{"DELETE " + c.path + " u 7"}, asked); d != "" {
					t.Error(d)
				}
			})
		}
	}
}
