package kube

import (
	"context"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

const reportsPath = group + "/fencereports"

// FenceReport reads a FenceReport; nil when there is none.
func (c *Client) FenceReport(ctx context.Context, name string) (*api.FenceReport, error) {
	return get[api.FenceReport](ctx, c, reportsPath+"/"+name)
}

// CreateFenceReport creates one. ErrConflict: there is one of this name already, which stays as it is.
func (c *Client) CreateFenceReport(ctx context.Context, r *api.FenceReport) error {
	r.TypeMeta = metav1.TypeMeta{APIVersion: api.GroupVersion.String(), Kind: "FenceReport"}
	_, err := create(ctx, c, reportsPath, r)
	return err
}

// reportsPage is how many FenceReports are read with one request.
const reportsPage = 500

// FenceReports reads all FenceReports, a page at a time, up to so many. A cluster without this kind has none.
func (c *Client) FenceReports(ctx context.Context, atMost int) (all []api.FenceReport, err error) {
	next := ""
	for len(all) < atMost {
		query := []string{"limit", strconv.Itoa(reportsPage)}
		if next != "" {
			query = append(query, "continue", next)
		}
		l, err := list[api.FenceReportList](ctx, c, reportsPath, query...)
		switch {
		case apierrors.IsNotFound(err):
			return nil, nil
		case err != nil:
			return nil, err
		}
		all, next = append(all, l.Items...), l.Continue
		if next == "" {
			break
		}
	}
	return all, nil
}

// DeleteFenceReport deletes the FenceReport with this UID. One that is gone is no error.
func (c *Client) DeleteFenceReport(ctx context.Context, r *api.FenceReport) error {
	return c.deleteObject(ctx, reportsPath+"/"+r.Name, deletionOf(r.UID))
}
