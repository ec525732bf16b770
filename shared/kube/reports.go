package kube

import (
	"context"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

const reportsPath = group + "/fencereports"

// FenceReport reads a FenceReport; nil when there is none, or no such kind.
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

// FenceReportsAges reads the metadata of FenceReports, a page at a time, up to so many and a page. A cluster without
// this kind has none.
func (c *Client) FenceReportsAges(ctx context.Context, atMost int) (all []metav1.ObjectMeta, err error) {
	const metadata = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
	query := []string{"limit", strconv.Itoa(reportsPage)}
	for len(all) < atMost {
		r, err := listRaw(ctx, c, metadata, reportsPath, query...)
		switch {
		case apierrors.IsNotFound(err):
			return nil, nil
		case err != nil:
			return nil, err
		}
		l, err := decode[metav1.PartialObjectMetadataList](r, reportsPath)
		if err != nil {
			return nil, err
		}
		for i := range l.Items {
			all = append(all, l.Items[i].ObjectMeta)
		}
		if l.Continue == "" {
			break
		}
		query = []string{"limit", strconv.Itoa(reportsPage), "continue", l.Continue}
	}
	return all, nil
}

// DeleteFenceReport deletes the FenceReport with this UID. One that is gone is no error.
func (c *Client) DeleteFenceReport(ctx context.Context, r *metav1.ObjectMeta) error {
	return c.deleteObject(ctx, reportsPath+"/"+r.Name, deletionOf(r.UID))
}
