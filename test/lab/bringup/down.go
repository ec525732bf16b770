package bringup

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nodefence/nodefence/test/lab/labdir"
	"github.com/nodefence/nodefence/test/lab/real"
)

const (
	// endLimit leaves the control plane the time that it gives its own parts.
	endLimit = 8 * time.Second
	// starterLimit is the time for an "up" that was interrupted and cleans up itself.
	starterLimit = 3 * endLimit
)

// Down ends a lab and removes its folder.
func Down(ctx context.Context, name string) error {
	dir, record, err := labdir.Open(name)
	if err != nil {
		return err
	}
	if !record.Ready {
		if err := record.Starter.End(ctx, starterLimit); err != nil {
			return fmt.Errorf("end the \"up\" of lab %q: %w", name, err)
		}
		// It has cleaned up, or has started more before it died.
		if dir, record, err = labdir.Open(name); errors.Is(err, labdir.ErrNotFound) {
			return nil
		} else if err != nil {
			return err
		}
	}
	return end(ctx, dir, record)
}

// end stops the processes, the last one first, and removes what real machines have left. It keeps the
// folder if one does not end: without the record nobody would know of that process.
func end(ctx context.Context, dir labdir.Dir, record labdir.Record) error {
	var errs []error
	for _, p := range slices.Backward(record.Processes) {
		if err := p.ID.End(ctx, endLimit); err != nil {
			errs = append(errs, fmt.Errorf("end %s of lab %q: %w", p.Name, record.Name, err))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	if err := real.Clean(ctx, layout(dir)); err != nil {
		return fmt.Errorf("clean up after the machines of lab %q: %w", record.Name, err)
	}
	return dir.Remove()
}
