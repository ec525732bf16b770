package kube

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/nodefence/nodefence/shared/device"
)

// ForDrivers is the cluster as device drivers see it: documents and paths, and the errors that
// all devices have.
func (c *Client) ForDrivers() device.Cluster { return forDrivers{c} }

type forDrivers struct{ *Client }

// Get reads a document.
func (c forDrivers) Get(ctx context.Context, path string) ([]byte, error) {
	at, path := c.MachinesAt().ofPath(c.Client, path)
	doc, err := getExisting[json.RawMessage](ctx, at, path)
	switch {
	case isAbsent(err, path):
		return nil, nil
	case err != nil:
		return nil, inWords(path, err)
	}
	return *doc, nil
}

// Create posts a document.
func (c forDrivers) Create(ctx context.Context, path string, doc []byte) error {
	raw := json.RawMessage(doc)
	_, err := create(ctx, c.Client, path, &raw)
	return inWords(path, err)
}

// Update is a compare-and-swap, by the resourceVersion in the document.
func (c forDrivers) Update(ctx context.Context, path string, doc []byte) error {
	raw := json.RawMessage(doc)
	_, err := update(ctx, c.Client, path, &raw)
	if isAbsent(err, path) {
		return fmt.Errorf("%w: it is gone meanwhile", device.ErrConflict)
	}
	return inWords(path, err)
}

// Delete deletes the object with this UID and version, and no other (S6).
func (c forDrivers) Delete(ctx context.Context, path, uid, version string) error {
	o := deletionOf(types.UID(uid))
	o.Preconditions.ResourceVersion = &version
	at, path := c.MachinesAt().ofPath(c.Client, path)
	err := at.rest.Delete().AbsPath(path).Body(o).Do(ctx).Error()
	if isAbsent(err, path) {
		return nil
	}
	return inWords(path, err)
}

// isAbsent tells whether the API server knows the kind and says, with the object's name, that
// there is no such object. For a path that it does not serve it answers 404 too, without a name.
func isAbsent(err error, path string) bool { return err != nil && absentName(err) == lastOf(path) }

func lastOf(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }

// inWords turns an answer of the API server into one of the devices' errors, in one line.
func inWords(path string, err error) error {
	if err == nil {
		return nil
	}
	if apierrors.IsNotFound(err) && absentName(err) == "" {
		return fmt.Errorf("%w %s", device.ErrNotServed, path)
	}
	word := device.ErrUnreachable
	var said apierrors.APIStatus
	if errors.As(err, &said) {
		switch said.Status().Code {
		case http.StatusUnauthorized, http.StatusForbidden:
			word = device.ErrDenied
		case http.StatusConflict:
			word = device.ErrConflict
		case http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusUnprocessableEntity, http.StatusBadRequest:
			word = device.ErrUnsupported
		}
	}
	if errors.Is(err, ErrConflict) {
		word = device.ErrConflict
	}
	return fmt.Errorf("%w: %s", word, strings.Join(strings.Fields(strings.ToValidUTF8(err.Error(), "?")), " "))
}
