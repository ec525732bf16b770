package device

import (
	"context"
	"errors"
	"fmt"
)

// Cluster is the part of this cluster's API that a driver needs if it acts by an object
// which another controller carries out. Documents are JSON, and a path is the object's own,
// such as /apis/<group>/<version>/<resource>/<name>.
//
// Its errors wrap one of the errors of devices: ErrConflict for an object that somebody
// else wrote, or that exists already; ErrNotServed for a kind that the cluster does not
// have.
type Cluster interface {
	// Get reads an object or a list; nil if the API server says that the object does not
	// exist. A kind that the cluster does not have is an error, because nothing is known
	// then (S2: what is unknown is never taken for off).
	Get(ctx context.Context, path string) ([]byte, error)
	// Create posts to the path of the objects' kind.
	Create(ctx context.Context, path string, doc []byte) error
	// Update puts a document with the resourceVersion that was read.
	Update(ctx context.Context, path string, doc []byte) error
	// Delete deletes only the object with this UID and version. A missing object is no
	// error.
	Delete(ctx context.Context, path, uid, version string) error
}

// ErrNotServed: the cluster does not have the kind.
var ErrNotServed = fmt.Errorf("%w: the cluster does not serve", ErrUnsupported)

// ErrNoCluster: the driver acts by objects of a cluster, and was opened without a cluster.
var ErrNoCluster = errors.New("this program has no access to the objects of the cluster by which the driver acts")
