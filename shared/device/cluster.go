package device

import (
	"context"
	"errors"
	"fmt"
)

// Cluster is as much of this cluster's API as a driver needs that acts by an
// object in it, which somebody else's controller carries out. Documents are JSON,
// and a path is the object's own, such as /apis/<group>/<version>/<resource>/<name>.
//
// Its errors wrap one of the words in which devices say no: ErrConflict for an object that somebody
// else wrote, or that is there already, ErrNotServed for a kind that the cluster does
// not have.
type Cluster interface {
	// Get reads an object or a list; nil if the API server says that there is no such
	// object. Of a kind that the cluster does not have nobody knows (S2).
	Get(ctx context.Context, path string) ([]byte, error)
	// Create posts to the path of the objects' kind.
	Create(ctx context.Context, path string, doc []byte) error
	// Update puts a document with the resourceVersion that was read.
	Update(ctx context.Context, path string, doc []byte) error
	// Delete takes away the object with this UID and version, and no other.
	// One that is gone is no error.
	Delete(ctx context.Context, path, uid, version string) error
}

// ErrNotServed is that the cluster does not have a kind.
var ErrNotServed = fmt.Errorf("%w: the cluster does not serve", ErrUnsupported)

// ErrNoCluster is for a driver that acts by objects of a cluster, and was made
// without one.
var ErrNoCluster = errors.New("this program has no access to the objects of the cluster by which the driver acts")
