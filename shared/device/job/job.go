package job

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/nodefence/nodefence/shared/device"
)

// Name is the driver's name.
const Name = "job"

// The driver's own parameters, besides the agent's.
const (
	AgentName = "agent_name"
	Image     = "job_image"
)

// Most is more than a pod may ever act after its node has accepted it, whatever its call says.
const Most = 2 * time.Minute

// Late is how long the pod may still act after a call of at most this limit returned whose pod
// was not seen to end. Its node had accepted the pod before the pod got the call, and from then
// on it has the limit, by its own node's clock and without help. The rest is for a node that says
// that it has accepted a pod and creates the pod's folders a little later.
func Late(limit time.Duration) time.Duration { return limit + 5*time.Second }

// Call is one call to one device.
type Call struct {
	// Image is the pod's image. It is not told to the pod.
	Image string `json:"-"`
	Agent string `json:"agent"`
	// Action is status, off or on.
	Action string `json:"action"`
	// Params contain the device's secrets, so a Call is kept in a Secret and nowhere else
	// (S29: no secret is shown).
	Params map[string]string `json:"params"`
	// Limit is how long the pod may act after its node has accepted it: for a Runner at most, and
	// for the pod what the Runner has made of it.
	Limit time.Duration `json:"limit"`
	// Left is how much of that time is of use to the caller, from when the call was handed
	// over.
	Left time.Duration `json:"left"`
	// Delay is the longest time until the device itself takes effect, after the pod has
	// ended.
	Delay time.Duration `json:"-"`
}

// End is the observed end of a call's container.
type End struct {
	Code int
	// Said is what the container wrote about its end.
	Said string
}

// Runner runs a call in a pod on another machine than the one that is fenced, and returns
// when the pod has ended. An error means that the end was not seen: then the pod may act
// for as long as a Kind's EffectDelay says, and not longer.
type Runner interface {
	Run(ctx context.Context, c Call) (End, error)
}

// Kind runs an agent in pods. Images are the images that a configuration may name: they
// receive a device's credentials, so only the person who installs nodefence chooses them.
// Without a runner, Kind only checks. A call takes limit at most.
func Kind(agent device.Kind, images []string, limit time.Duration, r Runner) device.Kind {
	k := agent
	k.Name = Name
	k.EffectDelay += Late(limit)
	k.Params = append([]device.Param{
		{Name: AgentName, Required: true, Doc: "the fence agent that the pod runs"},
		{Name: Image, Required: true, Doc: "the image that has nodefence and the agent"},
	}, agent.Params...)
	k.Address = func(p map[string]string) (string, error) {
		if err := allowed(images, p[Image]); err != nil {
			return "", err
		}
		return agent.Address(agents(p))
	}
	if agent.Hosts != nil {
		k.Hosts = func(p map[string]string) ([]string, error) { return agent.Hosts(agents(p)) }
	}
	k.Open = func(p map[string]string) (device.Driver, error) {
		if err := allowed(images, p[Image]); err != nil {
			return nil, err
		}
		if _, err := agent.Open(agents(p)); err != nil {
			return nil, err
		}
		at, err := agent.Address(agents(p))
		if err != nil {
			return nil, err
		}
		d := &driver{call: Call{Image: p[Image], Agent: agent.Name, Params: agents(p), Limit: limit, Delay: agent.EffectDelay}, at: at, runner: r}
		for _, q := range agent.Params {
			if q.Secret {
				d.secrets = append(d.secrets, q.Name)
			}
		}
		return d, nil
	}
	return k
}

// agents are the agent's own parameters.
func agents(p map[string]string) map[string]string {
	p = maps.Clone(p)
	delete(p, AgentName)
	delete(p, Image)
	return p
}

func allowed(images []string, image string) error {
	switch {
	case slices.Contains(images, image) && image != "":
		return nil
	case len(images) == 0:
		return fmt.Errorf("%s is refused: no image is allowed here; set NODEFENCE_JOB_IMAGES of the functions to those that may be handed the devices' credentials", Image)
	}
	return fmt.Errorf("%s %q is none of those that NODEFENCE_JOB_IMAGES allows: %s", Image, image, strings.Join(images, ", "))
}

// driver switches one machine, by one agent.
type driver struct {
	call   Call
	at     string
	runner Runner
	// secrets are the names of the secret parameters.
	secrets []string
}

// State reads the power.
func (d *driver) State(ctx context.Context) (device.Reading, error) {
	e, a, err := d.do(ctx, "status")
	switch {
	case err != nil:
		return device.Reading{}, err
	case e.Code == codeOn && a.Power == device.On, e.Code == codeOff && a.Power == device.Off:
		return device.Reading{Power: a.Power}, nil
	}
	return device.Reading{}, d.errorf(device.ErrUnsupported, "status", fmt.Sprintf("it exits with %d, and says power %q", e.Code, a.Power))
}

// Off cuts the power.
func (d *driver) Off(ctx context.Context) error { return d.control(ctx, "off") }

// On switches it on.
func (d *driver) On(ctx context.Context) error { return d.control(ctx, "on") }

func (d *driver) control(ctx context.Context, action string) error {
	if err := device.InTime(ctx); err != nil {
		return d.errorf(device.ErrUnreachable, action, err.Error())
	}
	e, a, err := d.do(ctx, action)
	if err == nil && (e.Code != codeDone || a.Power != device.Unknown) {
		err = d.errorf(device.ErrUnsupported, action, fmt.Sprintf("it exits with %d, and says power %q", e.Code, a.Power))
	}
	return err
}

// do runs one call and returns what its pod reported at its end. The exit code alone says
// nothing: an interpreter that can't find the agent exits with the code for off.
func (d *driver) do(ctx context.Context, action string) (End, answer, error) {
	if err := ctx.Err(); err != nil {
		return End{}, answer{}, d.errorf(device.ErrUnreachable, action, "no time is left for it")
	}
	if d.runner == nil {
		return End{}, answer{}, d.errorf(device.ErrUnsupported, action, "nothing here runs Jobs")
	}
	c := d.call
	c.Action = action
	e, err := d.runner.Run(ctx, c)
	if err != nil {
		return End{}, answer{}, d.errorf(device.ErrUnreachable, action, err.Error())
	}
	var a answer
	switch said := json.Unmarshal([]byte(e.Said), &a); {
	case said == nil && a.Error != "":
		return End{}, answer{}, d.errorf(a.kind(), action, a.Error)
	case said != nil || a.Action != action:
		return End{}, answer{}, d.mute(action, e)
	}
	return e, a, nil
}

// mute describes a pod that ended without a report.
func (d *driver) mute(action string, e End) error {
	if e.Code > 128 {
		return d.errorf(device.ErrUnreachable, action, fmt.Sprintf("its container was killed by signal %d", e.Code-128))
	}
	return d.errorf(device.ErrUnsupported, action, fmt.Sprintf("its container exits with %d and does not answer; the image must run nodefence, see shared/device/job", e.Code))
}

// most bounds the part of an error that is kept.
const most = 240

func (d *driver) errorf(kind error, action, why string) error {
	return fmt.Errorf("%w: %s in a Job, %s of %s: %s", kind, d.call.Agent, action, d.at, device.Line(d.scrub(why), most))
}

// scrub removes the secrets, in case any program on the way shows one (S29: no secret is
// shown). The pod has already scrubbed the agent's output.
func (d *driver) scrub(s string) string {
	for _, name := range d.secrets {
		s = device.Redacted(s, d.call.Params[name])
	}
	return s
}

// kinds are the names of errors, for the way from a pod to us.
var kinds = map[string]error{
	"unreachable": device.ErrUnreachable, "denied": device.ErrDenied, "unsupported": device.ErrUnsupported,
	"conflict": device.ErrConflict, "unknown": device.ErrUnknown, "stopping": device.ErrStopping,
}

// kindOf returns the name of an error and its text.
func kindOf(err error) (word, text string) {
	for _, w := range slices.Sorted(maps.Keys(kinds)) {
		if k := kinds[w]; errors.Is(err, k) {
			return w, strings.TrimPrefix(err.Error(), k.Error()+": ")
		}
	}
	return "unsupported", err.Error()
}
