package networkfence

import (
	"context"
	"time"

	"github.com/nodefence/nodefence/shared/device"
)

// State reads from the object what the storage has done, as csi-addons writes it.
func (f *fence) State(ctx context.Context) (device.Reading, error) {
	return device.Arrived(ctx, f.look)
}

// look is one read. Without an object there is no request, and the machine has access.
func (f *fence) look(ctx context.Context) (device.Reading, error) {
	o, err := f.read(ctx)
	switch {
	case err != nil:
		return device.Reading{}, err
	case o == nil, o.back():
		return device.Reading{Power: device.On}, nil
	case o.cut():
		return device.Reading{Power: device.Off}, nil
	case o.changed():
		return device.Reading{Power: device.On, MissingSupply: "NetworkFence " + f.spec.object() + " was changed after it was made, and what its status says may be about an earlier wish"}, nil
	}
	return device.Reading{}, f.doubt(o)
}

// doubt says why an object tells neither.
func (f *fence) doubt(o *object) error {
	switch {
	case o.Status.Result == failed:
		return f.errorf(device.ErrConflict, "the storage failed to carry out "+o.Spec.State+": "+o.Status.Message)
	case o.Spec.State == unfenced:
		return f.errorf(device.ErrConflict, "it is "+unfenced+", and csi-addons has not said yet that it is done (\""+undone+"\")")
	case o.Meta.Deleted != nil:
		return f.errorf(device.ErrConflict, "it was deleted while "+fenced+", and csi-addons does not unfence on deletion: see that the storage lets the machine in again")
	}
	return f.errorf(device.ErrStopping, "it is "+fenced+", and csi-addons has not carried it out yet")
}

// Off requests that the machine is cut off. An object that is left of an earlier fence is
// deleted first: only a new object's status is about this request.
func (f *fence) Off(ctx context.Context) error {
	o, err := f.read(ctx)
	switch {
	case err != nil:
		return err
	case o == nil:
		return f.create(ctx)
	case o.Spec.State == fenced && o.Meta.Deleted != nil:
		return f.doubt(o)
	case o.Spec.State == fenced && o.untouched():
		return nil
	}
	if o.Meta.Deleted == nil {
		if err := f.remove(ctx, o); err != nil {
			return err
		}
	}
	switch o, err = f.read(ctx); {
	case err != nil:
		return err
	case o == nil:
		return f.create(ctx)
	}
	return f.errorf(device.ErrConflict, "one of an earlier fence is being deleted; when csi-addons has taken its finalizer off, a new one is made")
}

// On requests access again, waits until the storage gave it, and deletes the object. If the
// caller's time ends before that, the object stays until the next Off, and State tells its
// state.
func (f *fence) On(ctx context.Context) error {
	o, err := f.read(ctx)
	if err != nil || o == nil {
		return err
	}
	if o.Spec.State == fenced {
		if o.Meta.Deleted != nil {
			return f.doubt(o)
		}
		if err := f.unfence(ctx, o); err != nil {
			return err
		}
	}
	o, err = f.given(ctx)
	if err != nil || o == nil || o.Meta.Deleted != nil {
		return err
	}
	return f.remove(ctx, o)
}

const (
	// again is the pause between two reads of a request that is being carried out.
	again = time.Second
	// rest is how long a read and a deletion may take, reserved from the caller's time.
	rest = 3 * time.Second
)

// given waits until the storage has given access again; nil if it has not within the
// caller's time.
func (f *fence) given(ctx context.Context) (*object, error) {
	for {
		o, err := f.read(ctx)
		if err != nil || o == nil || o.back() {
			return o, err
		}
		end, ok := ctx.Deadline()
		switch {
		case ok && time.Until(end) >= again+rest:
		case o.Status.Result == failed:
			return nil, f.doubt(o)
		default:
			return nil, nil
		}
		t := time.NewTimer(again)
		select {
		case <-ctx.Done():
			t.Stop()
			return nil, f.errorf(device.ErrUnreachable, ctx.Err().Error())
		case <-t.C:
		}
	}
}
