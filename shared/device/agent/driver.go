package agent

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nodefence/nodefence/shared/device"
)

// longest is how long an agent may run if the caller sets no limit.
const longest = time.Minute

// driver is the driver of one machine, by one agent.
type driver struct {
	*metadata
	params  map[string]string
	address string
}

// State reads the power. A reading of off counts only for a machine that is known to exist (S2).
func (d *driver) State(ctx context.Context) (device.Reading, error) {
	o, err := d.do(ctx, "status")
	if err != nil {
		return device.Reading{}, err
	}
	power, told := readStatus(o.Code, o.Stdout.Data)
	switch {
	case power == device.On:
		return device.Reading{Power: device.On}, nil
	case power == device.Off:
		if err := d.exists(ctx); err != nil {
			return device.Reading{}, err
		}
		return device.Reading{Power: device.Off}, nil
	case told:
		return device.Reading{}, d.errorf(device.ErrConflict, "status", "it says off, and exits as for on")
	}
	return device.Reading{}, d.explain("status", o)
}

// readStatus reads an agent's exit code and output. told without a power is a contradiction: the
// output says off, and the exit code says on.
func readStatus(code int, stdout []byte) (power device.Power, told bool) {
	off := saysOff.Match(stdout)
	switch {
	case code == 0 && !off:
		return device.On, true
	case code == 2 && off:
		return device.Off, true
	}
	return device.Unknown, code == 0
}

// saysOff is the text that must come with the exit code for off. An interpreter that can't find
// the agent has the same exit code.
var saysOff = regexp.MustCompile(`(?im)^status:?[ \t]+off\b`)

// exists checks that the outlet exists, if the agent does not tell by itself.
func (d *driver) exists(ctx context.Context) error {
	if tells[d.agent] {
		return nil
	}
	if d.keyed() {
		return d.errorf(errBlind, "status", "it says off, as it does of every key that is not registered: a key that nobody ever had reads the same")
	}
	o, err := d.do(ctx, "list")
	if err != nil {
		return err
	}
	if o.Code != 0 {
		return d.explain("list", o)
	}
	plug := d.params["plug"]
	for line := range strings.Lines(string(o.Stdout.Data)) {
		id, name, _ := strings.Cut(strings.TrimSpace(line), ",")
		if id == plug || d.params["switch"] != "" && id == d.params["switch"]+":"+plug {
			return nil
		}
		if name == plug {
			return d.errorf(device.ErrUnknown, "list", "it says off, and the list has this as the name of "+id+"; write plug="+id)
		}
	}
	return d.errorf(device.ErrUnknown, "list", "it says off, and its list does not show plug "+plug)
}

// Off cuts the power.
func (d *driver) Off(ctx context.Context) error { return d.control(ctx, "off", device.Off) }

// On switches it on.
func (d *driver) On(ctx context.Context) error {
	if why := d.noOn(); why != "" {
		return d.errorf(device.ErrUnsupported, "on", why)
	}
	return d.control(ctx, "on", device.On)
}

// control makes the agent send one command. An agent that gave up waiting for the effect has sent
// it. If an agent refuses because the machine is already in that state, the state is read, and
// the agent not believed.
func (d *driver) control(ctx context.Context, action string, goal device.Power) error {
	if err := device.InTime(ctx); err != nil {
		return d.errorf(device.ErrUnreachable, action, err.Error())
	}
	o, err := d.do(ctx, action)
	if err != nil {
		return err
	}
	if o.Code == 0 || strings.Contains(strings.ToLower(string(o.Stderr.Data)), "timed out waiting to power "+action) {
		return nil
	}
	err = d.explain(action, o)
	if errors.Is(err, device.ErrConflict) {
		if r, rerr := d.State(ctx); rerr == nil && r.Power == goal {
			return nil
		}
	}
	return err
}

// do runs the agent once.
func (d *driver) do(ctx context.Context, action string) (outcome, error) {
	o, err := run(ctx, job{Path: d.path, Input: d.input(ctx, action)})
	switch {
	case err != nil && ctx.Err() == nil:
		return o, d.errorf(device.ErrUnsupported, action, err.Error())
	case err != nil || o.Late:
		return o, d.errorf(device.ErrUnreachable, action, "it was ended, having no time left")
	case o.Err != "":
		return o, d.errorf(device.ErrUnsupported, action, "start it: "+o.Err)
	}
	return o, nil
}

// input is all that the agent gets, one parameter on each line, with exactly one action.
func (d *driver) input(ctx context.Context, action string) []byte {
	var b strings.Builder
	line := func(name, value string) {
		if p, ok := d.param(name); ok {
			b.WriteString(p.word + "=" + value + "\n")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(d.params)) {
		p, _ := d.param(name)
		yes, is := boolean(d.params[name])
		usual, _ := boolean(p.usual)
		// Agents treat a switch that is given as one that is set.
		if p.kind == "boolean" && is && !yes && !usual {
			continue
		}
		line(name, d.params[name])
	}
	// nodefence waits for the effect, and the agent sends a command once (S9).
	line("delay", "0")
	line("power_wait", "0")
	line("retry_on", "0")
	line("stonith_status_sleep", "1")
	line("power_timeout", strconv.Itoa(d.limit(ctx)))
	b.WriteString("action=" + action + "\n")
	return []byte(b.String())
}

// limit is how many seconds the agent gives one program that it runs, and how often it looks
// whether its command had an effect. It is a part of the caller's time, unless the agent needs
// more for its programs than agents usually do.
func (d *driver) limit(ctx context.Context) int {
	const usual = 20
	least := 2
	p, _ := d.param("power_timeout")
	if n, err := strconv.Atoi(p.usual); err == nil && n > usual {
		least = n
	}
	left, bounded := device.Left(ctx)
	if !bounded {
		left = longest
	}
	return max(least, int(left/time.Second)/4)
}

func (d *driver) errorf(kind error, action, why string) error {
	return fmt.Errorf("%w: %s, %s of %s: %s", kind, d.agent, action, d.address, device.Line(d.scrub(why), most))
}
