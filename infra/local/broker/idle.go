package broker

import (
	"context"
	"fmt"
)

// Idle reports whether every stored event has been handled or given up.
func (b *Broker) Idle(ctx context.Context) (bool, error) {
	for i := range b.o.Triggers {
		c, err := b.events.Consumer(ctx, b.o.Triggers[i].durable())
		if err != nil {
			return false, fmt.Errorf("look up consumer %s: %w", b.o.Triggers[i].Name, err)
		}
		info, err := c.Info(ctx)
		if err != nil {
			return false, fmt.Errorf("ask consumer %s: %w", b.o.Triggers[i].Name, err)
		}
		if info.NumPending > 0 || info.NumAckPending > 0 {
			return false, nil
		}
	}
	return true, nil
}
