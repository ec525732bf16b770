package vsphere

import (
	"context"
	"time"
)

const (
	// patience is how long an accepted command is watched for a refusal. Whether the
	// command has its effect is read later by State.
	patience = 2 * time.Second
	// pause is the time between two looks at a task.
	pause = 100 * time.Millisecond
)

// wait returns why a task failed, if it fails soon.
func (c *conversation) wait(ctx context.Context, what string, task ref) error {
	until := time.Now().Add(patience)
	if end, ok := ctx.Deadline(); ok && time.Until(end)/2 < patience {
		until = time.Now().Add(time.Until(end) / 2)
	}
	for {
		p, err := c.properties(ctx, task, "info.state", "info.error")
		if err != nil {
			return err
		}
		switch p["info.state"].text() {
		case "success":
			return nil
		case "error":
			why := p["info.error"]
			return c.faulty(what, faultOf(why.at("fault"), why.at("localizedMessage").text()))
		}
		if !time.Now().Add(pause).Before(until) {
			return nil
		}
		if err := sleep(ctx); err != nil {
			return c.explain(what, err)
		}
	}
}

func sleep(ctx context.Context) error {
	t := time.NewTimer(pause)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}
