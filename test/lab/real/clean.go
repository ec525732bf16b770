package real

import (
	"context"
	"errors"
	"os"
)

// Clean ends all machines and BMCs of a lab, and removes their remains outside of the lab's folder. Clean searches by
// name, and so finds unrecorded remains too. End the control plane first.
func Clean(ctx context.Context, l Layout) error {
	if os.Getuid() != 0 {
		return nil // nobody but root can have made any of these
	}
	g, err := newGroup(l.ID)
	if err != nil {
		return err
	}
	if g.exists() {
		if err := g.kill(ctx); err != nil {
			return err
		}
	}
	return errors.Join(removeNetworks(ctx, l), g.remove(ctx))
}
