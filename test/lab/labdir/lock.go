package labdir

import (
	"context"
	"path/filepath"

	"github.com/nodefence/nodefence/test/lab/filelock"
)

func lock(ctx context.Context) (release func(), err error) {
	root, err := Root()
	if err != nil {
		return nil, err
	}
	return filelock.Take(ctx, filepath.Join(root, ".lock"))
}
