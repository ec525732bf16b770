package kube

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

const (
	mergePatch     = types.MergePatchType
	strategicPatch = types.StrategicMergePatchType
	// tries bounds how often a mark is tried again because others write the Node.
	tries = 8
)

func isConflict(err error) bool { return errors.Is(err, ErrConflict) }

// get reads one object; nil when there is none.
func get[T any](ctx context.Context, c *Client, path string) (*T, error) {
	out, err := getExisting[T](ctx, c, path)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return out, err
}

// getExisting reads one object. If there is none, it returns the API server's error.
func getExisting[T any](ctx context.Context, c *Client, path string) (*T, error) {
	r, at := c.read(ctx, path, func(ctx context.Context) rest.Result { return c.rest.Get().AbsPath(path).Do(ctx) })
	if err := r.Error(); err != nil {
		if apierrors.IsNotFound(err) {
			c.dropFromCache(path)
		}
		return nil, fmt.Errorf("get %s: %w", path, err)
	}
	return decodeObject[T](c, r, path, at)
}

// list reads a whole collection.
func list[T any](ctx context.Context, c *Client, path string, query ...string) (*T, error) {
	accept := runtime.ContentTypeJSON
	if _, ok := any(new(T)).(fromProtobuf); ok {
		accept = runtime.ContentTypeProtobuf + "," + accept
	}
	r, err := listRaw(ctx, c, accept, path, query...)
	if err != nil {
		return nil, err
	}
	return decode[T](r, path)
}

// fromProtobuf has each kind of Kubernetes' own. A LIST of them in JSON takes five times as long to read.
type fromProtobuf interface{ Unmarshal([]byte) error }

// protobufBegins is what Kubernetes writes before an object in protobuf.
var protobufBegins = []byte("k8s\x00")

// listRaw is list, with the objects as the API server sent them, in one of the forms that are accepted.
func listRaw(ctx context.Context, c *Client, accept, path string, query ...string) (r rest.Result, err error) {
	r, _ = c.read(ctx, path+"?"+strings.Join(query, "&"), func(ctx context.Context) rest.Result {
		req := c.rest.Get().AbsPath(path).SetHeader("Accept", accept)
		for i := 0; i+1 < len(query); i += 2 {
			req = req.Param(query[i], query[i+1])
		}
		return req.Do(ctx)
	})
	switch err := r.Error(); {
	case apierrors.IsNotFound(err) && strings.HasPrefix(path, group):
		return r, fmt.Errorf("list %s: nodefence's kinds are not installed (kubectl apply --server-side -k infra/crd): %w", path, err)
	case err != nil:
		return r, fmt.Errorf("list %s: %w", path, err)
	}
	return r, nil
}

// update writes an object with its resourceVersion: compare-and-swap.
func update[T any](ctx context.Context, c *Client, path string, obj *T) (*T, error) {
	return write(ctx, c, c.rest.Put(), "put", path, obj)
}

// create creates an object. ErrConflict says that it already exists.
func create[T any](ctx context.Context, c *Client, path string, obj *T) (*T, error) {
	return write(ctx, c, c.rest.Post(), "create", path, obj)
}

// write writes an object. The API server would drop a field that it does not know silently, and
// with it an intent (S8). So if the CRDs are older than this program, write returns an error that
// says so.
func write[T any](ctx context.Context, c *Client, req *rest.Request, verb, path string, obj *T) (*T, error) {
	body, err := json.Marshal(obj)
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", path, err)
	}
	at := c.clock.elapsed()
	r := req.AbsPath(path).Param("fieldManager", api.FieldManager).Param("fieldValidation", "Strict").Body(body).Do(ctx)
	return writeResult[T](ctx, c, r, verb, path, at)
}

// patch changes what it names, leaves the rest byte for byte (S22), and returns the object after
// the change.
func patch[T any](ctx context.Context, c *Client, typ types.PatchType, path string, body any) (*T, error) {
	raw, err := json.Marshal(body)
	if err != nil {
		return nil, fmt.Errorf("encode patch of %s: %w", path, err)
	}
	at := c.clock.elapsed()
	req := c.rest.Patch(typ).AbsPath(path).Param("fieldManager", api.FieldManager)
	if strings.HasPrefix(path, group) {
		req.Param("fieldValidation", "Strict") // as in write
	}
	r := req.Body(raw).Do(ctx)
	return writeResult[T](ctx, c, r, "patch", path, at)
}

// patchOnly is patch for callers that do not need the object afterwards.
func (c *Client) patchOnly(ctx context.Context, typ types.PatchType, path string, body any) error {
	_, err := patch[json.RawMessage](ctx, c, typ, path, body)
	return err
}

// writeResult is the object after a write.
func writeResult[T any](ctx context.Context, c *Client, r rest.Result, verb, path string, at time.Duration) (*T, error) {
	err := r.Error()
	if err != nil {
		c.dropFromCache(objectOf(path))
	}
	if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) {
		return nil, fmt.Errorf("%s %s: %w", verb, path, ErrConflict)
	}
	if unknown := cmp.Or(unknownField(err), unknownValue(err)); unknown != "" && strings.HasPrefix(path, group) {
		return nil, fmt.Errorf("%s %s: nodefence's kinds are older here than this program (kubectl apply --server-side -k infra/crd): %s", verb, path, unknown)
	}
	if unserved(err) {
		return nil, fmt.Errorf("%s %s: nodefence's kinds are older here than this program, and nothing is reserved until they are not (kubectl apply --server-side -k infra/crd): %w", verb, path, err)
	}
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", verb, path, err)
	}
	return decodeObject[T](c, r, objectOf(path), at)
}

// objectOf is the path of an object whose status, or itself, was written.
func objectOf(path string) string { return strings.TrimSuffix(path, "/status") }

// decodeObject decodes one object and adds it to the cache.
func decodeObject[T any](c *Client, r rest.Result, path string, at time.Duration) (*T, error) {
	if raw, err := r.Raw(); err == nil {
		c.addToCache(path, raw, at)
	}
	out, err := decode[T](r, path)
	if l, ok := any(out).(*api.FenceLedger); ok && err == nil {
		c.restores.note(l, at, c.clock.elapsed(), c.clock.Now())
	}
	return out, err
}

func decode[T any](r rest.Result, path string) (*T, error) {
	raw, err := r.Raw()
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	out := new(T)
	if in, ok := any(out).(fromProtobuf); ok && bytes.HasPrefix(raw, protobufBegins) {
		var as runtime.Unknown
		if err = as.Unmarshal(raw[len(protobufBegins):]); err == nil {
			err = in.Unmarshal(as.Raw)
		}
		if err != nil {
			return nil, fmt.Errorf("decode %s: %w", path, err)
		}
		return out, nil
	}
	if err := json.Unmarshal(raw, out); err != nil {
		return nil, fmt.Errorf("decode %s%s: %w", path, unreadable[T](raw), err)
	}
	return out, nil
}

// unreadable names the object in a list that can't be decoded. One such object keeps the whole
// kind from being read, and a user needs its name to correct it.
func unreadable[T any](raw []byte) string {
	var list struct{ Items []json.RawMessage }
	_ = json.Unmarshal(raw, &list)
	for _, item := range list.Items {
		if json.Unmarshal(slices.Concat([]byte(`{"items":[`), item, []byte(`]}`)), new(T)) != nil {
			var o metav1.PartialObjectMetadata
			_ = json.Unmarshal(item, &o)
			return "/" + o.Name
		}
	}
	return ""
}

// deletionOf deletes the object with this UID and no other (S6).
func deletionOf(uid types.UID) *metav1.DeleteOptions {
	return &metav1.DeleteOptions{
		TypeMeta:      metav1.TypeMeta{APIVersion: "v1", Kind: "DeleteOptions"},
		Preconditions: &metav1.Preconditions{UID: &uid},
	}
}

// forcedDeletionOf is deletionOf without a grace period.
func forcedDeletionOf(uid types.UID) *metav1.DeleteOptions {
	o, none := deletionOf(uid), int64(0)
	o.GracePeriodSeconds = &none
	return o
}

// deleteObject deletes an object that may already be gone, or may be another one of the same name
// by now. Neither is an error.
func (c *Client) deleteObject(ctx context.Context, path string, o *metav1.DeleteOptions) error {
	err := c.rest.Delete().AbsPath(path).Body(o).Do(ctx).Error()
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return err
}

// deleteAsSeen deletes exactly this version of the object with this UID; if it is gone, that is
// no error. ErrConflict: it was written since, or is another object, and stays.
func (c *Client) deleteAsSeen(ctx context.Context, path string, uid types.UID, version string) error {
	o := deletionOf(uid)
	o.Preconditions.ResourceVersion = &version
	err := c.rest.Delete().AbsPath(path).Body(o).Do(ctx).Error()
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case apierrors.IsConflict(err):
		return fmt.Errorf("delete %s: it is not as it was looked at: %w", path, ErrConflict)
	}
	return err
}

// absentName is the object of which the API server says that there is none; empty if it names
// none.
func absentName(err error) string {
	var said apierrors.APIStatus
	if !apierrors.IsNotFound(err) || !errors.As(err, &said) || said.Status().Details == nil {
		return ""
	}
	return said.Status().Details.Name
}
