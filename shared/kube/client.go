package kube

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// ErrConflict says that somebody else wrote first: look again.
var ErrConflict = errors.New("written by somebody else meanwhile")

// requestTimeout bounds every request, so that no handler outlives its platform's limit.
const requestTimeout = 10 * time.Second

// Client speaks JSON with the API server. It has no generated clientset behind
// it, because the functions' binary is started often and must be small.
type Client struct {
	rest  rest.Interface
	clock *Clock
	// glances are what its invocations share.
	glances glances
	past    past
}

// New connects to the cluster that the configuration names.
func New(cfg *rest.Config) (*Client, error) { return newClient(cfg, NewClock()) }

// NewAt is New where somebody else counts the time that passes: a model of the
// cluster in which a process may stand still for as long as the model likes.
func NewAt(cfg *rest.Config, elapsed func() time.Duration) (*Client, error) {
	clock := NewClock()
	clock.elapsed = elapsed
	return newClient(cfg, clock)
}

func newClient(cfg *rest.Config, clock *Clock) (*Client, error) {
	scheme := runtime.NewScheme()
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"})
	cfg = rest.CopyConfig(cfg)
	cfg.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	cfg.ContentType, cfg.AcceptContentTypes = "application/json", "application/json"
	// The API server's own priority and fairness is the limit: a client-side
	// one would delay a fence exactly when many nodes fail.
	cfg.QPS = -1
	cfg.Timeout = requestTimeout
	if cfg.UserAgent == "" {
		cfg.UserAgent = api.FieldManager
	}
	cfg.Wrap(func(next http.RoundTripper) http.RoundTripper { return named(clock.Sample(next)) })
	c, err := rest.UnversionedRESTClientFor(cfg)
	if err != nil {
		return nil, fmt.Errorf("connect to the API server: %w", err)
	}
	return &Client{rest: c, clock: clock}, nil
}

// Clock is the API server's.
func (c *Client) Clock() *Clock { return c.clock }

// Ready tells whether the API server answers.
func (c *Client) Ready(ctx context.Context) error {
	if err := c.rest.Get().AbsPath("/readyz").Do(ctx).Error(); err != nil {
		return fmt.Errorf("reach the API server: %w", err)
	}
	return nil
}

// ClusterID is the UID of kube-system: a name for the cluster that no other has.
func (c *Client) ClusterID(ctx context.Context) (string, error) {
	ns, err := get[metav1.PartialObjectMetadata](ctx, c, "/api/v1/namespaces/kube-system")
	if err != nil {
		return "", fmt.Errorf("read the cluster's identity: %w", err)
	}
	if ns == nil {
		return "", errors.New("read the cluster's identity: there is no namespace kube-system")
	}
	return string(ns.UID), nil
}

// get reads one object; nil when there is none.
func get[T any](ctx context.Context, c *Client, path string) (*T, error) {
	out, err := read[T](ctx, c, path)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return out, err
}

// read reads one object, and says in the API server's words that there is none.
func read[T any](ctx context.Context, c *Client, path string) (*T, error) {
	at := c.clock.elapsed()
	r := c.rest.Get().AbsPath(path).Do(ctx)
	if err := r.Error(); err != nil {
		if apierrors.IsNotFound(err) {
			c.forget(path)
		}
		return nil, fmt.Errorf("get %s: %w", path, err)
	}
	return decoded[T](ctx, c, r, path, at)
}

// list reads a collection, whole.
func list[T any](ctx context.Context, c *Client, path string, query ...string) (*T, error) {
	r, err := collection(ctx, c, path, query...)
	if err != nil {
		return nil, err
	}
	return decode[T](r, path)
}

func collection(ctx context.Context, c *Client, path string, query ...string) (r rest.Result, err error) {
	req := c.rest.Get().AbsPath(path)
	for i := 0; i+1 < len(query); i += 2 {
		req = req.Param(query[i], query[i+1])
	}
	r = req.Do(ctx)
	switch err := r.Error(); {
	case apierrors.IsNotFound(err) && strings.HasPrefix(path, group):
		return r, fmt.Errorf("list %s: nodefence's kinds are not installed (kubectl apply --server-side -k infra/crd): %w", path, err)
	case err != nil:
		return r, fmt.Errorf("list %s: %w", path, err)
	}
	return r, nil
}

// put writes an object with its resourceVersion: compare-and-swap.
func put[T any](ctx context.Context, c *Client, path string, obj *T) (*T, error) {
	return whole(ctx, c, c.rest.Put(), "put", path, obj)
}

// post creates an object. ErrConflict says that it is there already.
func post[T any](ctx context.Context, c *Client, path string, obj *T) (*T, error) {
	return whole(ctx, c, c.rest.Post(), "create", path, obj)
}

// whole writes an object. A field that the API server does not know would be dropped
// without a word, an intent with it (S8): where the CRDs are older than this program, it
// says so instead.
func whole[T any](ctx context.Context, c *Client, req *rest.Request, verb, path string, obj *T) (*T, error) {
	body, err := json.Marshal(obj)
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", path, err)
	}
	at := c.clock.elapsed()
	r := req.AbsPath(path).Param("fieldManager", api.FieldManager).Param("fieldValidation", "Strict").Body(body).Do(ctx)
	return written[T](ctx, c, r, verb, path, at)
}

// patch changes what it names and leaves the rest byte for byte (S22).
func (c *Client) patch(ctx context.Context, typ types.PatchType, path string, body any) error {
	_, err := patched[json.RawMessage](ctx, c, typ, path, body)
	return err
}

// patched is patch, and gives the object as it stands after it.
func patched[T any](ctx context.Context, c *Client, typ types.PatchType, path string, body any) (*T, error) {
	raw, err := json.Marshal(body)
	if err != nil {
		return nil, fmt.Errorf("encode patch of %s: %w", path, err)
	}
	at := c.clock.elapsed()
	req := c.rest.Patch(typ).AbsPath(path).Param("fieldManager", api.FieldManager)
	if strings.HasPrefix(path, group) {
		req.Param("fieldValidation", "Strict") // as whole has it
	}
	r := req.Body(raw).Do(ctx)
	return written[T](ctx, c, r, "patch", path, at)
}

// written is the object as it stands after a write.
func written[T any](ctx context.Context, c *Client, r rest.Result, verb, path string, at time.Duration) (*T, error) {
	err := r.Error()
	if err != nil {
		c.forget(objectOf(path))
	}
	if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) {
		return nil, fmt.Errorf("%s %s: %w", verb, path, ErrConflict)
	}
	if unknown := unknownField(err); unknown != "" && strings.HasPrefix(path, group) {
		return nil, fmt.Errorf("%s %s: nodefence's kinds are older here than this program (kubectl apply --server-side -k infra/crd): %s", verb, path, unknown)
	}
	if unserved(err) {
		return nil, fmt.Errorf("%s %s: nodefence's kinds are older here than this program, and nothing is reserved until they are not (kubectl apply --server-side -k infra/crd): %w", verb, path, err)
	}
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", verb, path, err)
	}
	return decoded[T](ctx, c, r, objectOf(path), at)
}

// unknownField is what the API server says of a field that it does not know, if it does. Of
// a patch it says that after the whole object.
func unknownField(err error) string {
	if !apierrors.IsBadRequest(err) && !apierrors.IsInvalid(err) {
		return ""
	}
	words := err.Error()
	if i := strings.LastIndex(words, "strict decoding error"); i >= 0 && strings.Contains(words[i:], "unknown field") {
		return words[i:]
	}
	return ""
}

// unserved: the path leads nowhere; if an object were missing, it would be named.
func unserved(err error) bool {
	var s apierrors.APIStatus
	return apierrors.IsNotFound(err) && errors.As(err, &s) && (s.Status().Details == nil || s.Status().Details.Name == "")
}

// objectOf is the path of an object whose status, or itself, was written.
func objectOf(path string) string { return strings.TrimSuffix(path, "/status") }

// decoded is decode of one object, which this process remembers.
func decoded[T any](ctx context.Context, c *Client, r rest.Result, path string, at time.Duration) (*T, error) {
	if raw, err := r.Raw(); err == nil {
		c.remember(ctx, path, raw, at)
	}
	out, err := decode[T](r, path)
	if l, ok := any(out).(*api.FenceLedger); ok && err == nil {
		c.past.note(l, at, c.clock.elapsed(), c.clock.Now())
	}
	return out, err
}

func decode[T any](r rest.Result, path string) (*T, error) {
	raw, err := r.Raw()
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	out := new(T)
	if err := json.Unmarshal(raw, out); err != nil {
		return nil, fmt.Errorf("decode %s%s: %w", path, unreadable[T](raw), err)
	}
	return out, nil
}

// unreadable is the rest of the path of the one in a list that can't be decoded: one is
// enough that none of its kind is read, and only its name says which to mend.
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
