package networkfence

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/nodefence/nodefence/shared/device"
)

const (
	apiVersion = "csiaddons.openshift.io/v1alpha1"
	kind       = "NetworkFence"
	collection = "/apis/" + apiVersion + "/networkfences"
	// ownerLabel marks the objects that are ours to change.
	ownerLabel, owner = "app.kubernetes.io/managed-by", "nodefence"
)

// The values of the API.
const (
	fenced    = "Fenced"
	unfenced  = "Unfenced"
	succeeded = "Succeeded"
	failed    = "Failed"
	// undone is csi-addons' message for an unfencing that succeeded; for a fencing the
	// message is "fencing operation successful".
	undone = "unfencing operation successful"
)

type spec struct {
	Driver     string            `json:"driver"`
	State      string            `json:"fenceState"`
	Cidrs      []string          `json:"cidrs"`
	Secret     *secretRef        `json:"secret,omitempty"`
	Parameters map[string]string `json:"parameters,omitempty"`
}

type secretRef struct {
	Name      string `json:"name"`
	Namespace string `json:"namespace"`
}

type metadata struct {
	Name       string            `json:"name"`
	UID        string            `json:"uid,omitempty"`
	Version    string            `json:"resourceVersion,omitempty"`
	Generation int64             `json:"generation,omitempty"`
	Deleted    *string           `json:"deletionTimestamp,omitempty"`
	Labels     map[string]string `json:"labels,omitempty"`
}

type object struct {
	APIVersion string   `json:"apiVersion"`
	Kind       string   `json:"kind"`
	Meta       metadata `json:"metadata"`
	Spec       spec     `json:"spec"`
	Status     *status  `json:"status,omitempty"`
	// raw is the document as it was read, so that fields of others stay.
	raw []byte
}

type status struct {
	Result  string `json:"result"`
	Message string `json:"message"`
}

func (f *fence) path() string { return collection + "/" + f.spec.object() }

// read returns the machine's NetworkFence; nil if there is none. An object of this name
// that is somebody else's, or about something else, is neither used nor changed.
func (f *fence) read(ctx context.Context) (*object, error) {
	raw, err := f.cluster.Get(ctx, f.path())
	if err != nil || raw == nil {
		return nil, f.explain("read", err)
	}
	o := &object{raw: raw}
	if err := json.Unmarshal(raw, o); err != nil || o.Meta.UID == "" {
		return nil, f.errorf(device.ErrUnreachable, "the answer is no NetworkFence")
	}
	if o.Status == nil {
		o.Status = &status{}
	}
	same := o.Spec.Driver == f.spec.Driver && slices.Equal(o.Spec.Cidrs, f.spec.Cidrs) && maps.Equal(o.Spec.Parameters, f.spec.Parameters)
	switch {
	case o.Meta.Labels[ownerLabel] != owner:
		return nil, f.errorf(device.ErrConflict, "it is somebody else's: it has no label "+ownerLabel+"="+owner)
	case !same:
		return nil, f.errorf(device.ErrConflict, "it was changed: it is not about "+f.spec.address()+" any more")
	}
	return o, nil
}

// is says what the object's status tells about its request.
func (o *object) is(state, result string) bool {
	return o.Spec.State == state && o.Status.Result == result
}

// cut: the storage was told to cut the machine off, and did. An object of a later
// generation may still show the result of an earlier request (S2: what is unknown is never
// taken for off).
func (o *object) cut() bool { return o.is(fenced, succeeded) && o.untouched() }

func (o *object) untouched() bool { return o.Meta.Generation == 1 && o.Meta.Deleted == nil }

// changed: it wants the machine cut off, and somebody changed it since it was made. Whether the
// machine has access is not known. It reads as there in part, so that an Off makes a new object,
// and an On has this one unfenced.
func (o *object) changed() bool {
	return o.Spec.State == fenced && o.Status.Result != failed && !o.untouched() && o.Meta.Deleted == nil
}

// back: the storage was told to give the machine access again, and did.
func (o *object) back() bool { return o.is(unfenced, succeeded) && o.Status.Message == undone }

func (f *fence) create(ctx context.Context) error {
	doc, err := json.Marshal(object{
		APIVersion: apiVersion, Kind: kind,
		Meta: metadata{Name: f.spec.object(), Labels: map[string]string{ownerLabel: owner}}, Spec: f.spec,
	})
	if err != nil {
		return fmt.Errorf("encode NetworkFence: %w", err)
	}
	return f.write(ctx, "create", func() error { return f.cluster.Create(ctx, collection, doc) })
}

// unfence changes the one field, and leaves the rest as it is.
func (f *fence) unfence(ctx context.Context, o *object) error {
	var doc, inner map[string]json.RawMessage
	err := json.Unmarshal(o.raw, &doc)
	if err == nil {
		err = json.Unmarshal(doc["spec"], &inner)
	}
	if err != nil {
		return fmt.Errorf("decode NetworkFence: %w", err)
	}
	inner["fenceState"] = json.RawMessage(`"` + unfenced + `"`)
	if doc["spec"], err = json.Marshal(inner); err != nil {
		return fmt.Errorf("encode NetworkFence: %w", err)
	}
	body, err := json.Marshal(doc)
	if err != nil {
		return fmt.Errorf("encode NetworkFence: %w", err)
	}
	return f.write(ctx, "unfence", func() error { return f.cluster.Update(ctx, f.path(), body) })
}

func (f *fence) remove(ctx context.Context, o *object) error {
	return f.write(ctx, "delete", func() error { return f.cluster.Delete(ctx, f.path(), o.Meta.UID, o.Meta.Version) })
}

// write writes nothing once the time of the call is over (S8: the intent is saved before the call).
func (f *fence) write(ctx context.Context, verb string, do func() error) error {
	if err := device.InTime(ctx); err != nil {
		return f.errorf(device.ErrUnreachable, verb+": "+err.Error())
	}
	return f.explain(verb, do())
}

func (f *fence) errorf(word error, why string) error {
	return fmt.Errorf("%w: NetworkFence %s: %s", word, f.spec.object(), device.Line(why, longest))
}

// explain adds what was tried; the error itself has the reason.
func (f *fence) explain(verb string, err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, device.ErrNotServed) {
		err = fmt.Errorf("%w: the CRD of csi-addons is not installed, or not as v1alpha1", err)
	}
	return fmt.Errorf("%s NetworkFence %s: %w", verb, f.spec.object(), err)
}

// longest bounds the part of a foreign message that is kept.
const longest = 240
