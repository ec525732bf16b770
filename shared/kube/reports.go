package kube

import (
	"context"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// The kinds of the trail, as the API server names them.
const (
	FenceReports = "fencereports"
	FenceActs    = "fenceacts"
)

const reportsPath = group + "/" + FenceReports

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

// trailPage is how many objects of the trail are read with one request.
const trailPage = 500

// TrailAges reads the metadata of FenceReports or FenceActs, a page at a time, up to so many and a page. A cluster
// without this kind has none.
func (c *Client) TrailAges(ctx context.Context, resource string, atMost int) (all []metav1.ObjectMeta, err error) {
	const metadata = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
	query := []string{"limit", strconv.Itoa(trailPage)}
	for len(all) < atMost {
		r, err := listRaw(ctx, c, metadata, group+"/"+resource, query...)
		switch {
		case apierrors.IsNotFound(err):
			return nil, nil
		case err != nil:
			return nil, err
		}
		l, err := decode[metav1.PartialObjectMetadataList](r, group+"/"+resource)
		if err != nil {
			return nil, err
		}
		for i := range l.Items {
			all = append(all, l.Items[i].ObjectMeta)
		}
		if l.Continue == "" {
			break
		}
		query = []string{"limit", strconv.Itoa(trailPage), "continue", l.Continue}
	}
	return all, nil
}

// DeleteOfTrail deletes the FenceReport or FenceAct with this UID. One that is gone is no error.
func (c *Client) DeleteOfTrail(ctx context.Context, resource string, o *metav1.ObjectMeta) error {
	return c.deleteObject(ctx, group+"/"+resource+"/"+o.Name, deletionOf(o.UID))
}
