package ec2test

import (
	"net/http"
	"regexp"
	"time"
)

// Refusal is an error of the API.
type Refusal struct {
	Status        int
	Code, Message string
}

// Refuse makes every request of this name fail from now on, without reaching any instance;
// a zero Refusal ends this.
func (c *Cloud) Refuse(name string, with Refusal) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.refusals == nil {
		c.refusals = map[string]Refusal{}
	}
	c.refusals[name] = with
}

var wellFormed = regexp.MustCompile(`^i-([0-9a-f]{8}|[0-9a-f]{17})$`)

// The API's own texts for refusals.
func notFound(id string) Refusal {
	return Refusal{http.StatusBadRequest, "InvalidInstanceID.NotFound", "The instance ID '" + id + "' does not exist"}
}

func malformed(id string) Refusal {
	return Refusal{http.StatusBadRequest, "InvalidInstanceID.Malformed", `Invalid id: "` + id + `"`}
}

func wrongState(id, done string) Refusal {
	return Refusal{http.StatusBadRequest, "IncorrectInstanceState",
		"This instance '" + id + "' is not in a state from which it can be " + done + "."}
}

// dryRun is the answer to a trial by a caller who has the right.
var dryRun = Refusal{http.StatusPreconditionFailed, "DryRunOperation", "Request would have succeeded, but DryRun flag is set."}

// change is the answer to a stop or start.
type change struct{ was, is Instance }

// do carries out one request about one instance, and logs the result. Call the function
// that it returns last without the lock.
func (c *Cloud) do(a Action) (change, Refusal, func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	ch, no, then := c.judge(a)
	a.At, a.Refused = time.Now(), no.Code
	c.actions = append(c.actions, a)
	return ch, no, then
}

func (c *Cloud) judge(a Action) (change, Refusal, func()) {
	none := func() {}
	if no := c.refusals[a.Name]; no != (Refusal{}) {
		return change{}, no, none
	}
	if a.DryRun && !c.Deaf {
		return change{}, dryRun, none
	}
	if a.Name == "ModifyNetworkInterfaceAttribute" {
		return change{}, c.modify(a), none
	}
	l := c.instances[a.Instance]
	switch {
	case !wellFormed.MatchString(a.Instance):
		return change{}, malformed(a.Instance), none
	case l == nil:
		return change{}, notFound(a.Instance), none
	}
	was, then := l.Instance, none
	switch {
	case a.Name == "StopInstances" && (l.State == Pending || l.State == ShuttingDown || l.State == Terminated):
		return change{}, wrongState(l.ID, "stopped"), none
	case a.Name == "StartInstances" && (l.State == Stopping || l.State == ShuttingDown || l.State == Terminated):
		return change{}, wrongState(l.ID, "started"), none
	case a.Name == "StopInstances" && l.State == Running:
		then = c.leave(l, Stopping)
	case a.Name == "StartInstances" && l.State == Stopped:
		then = c.leave(l, Pending)
	case a.Name == "CreateTags", a.Name == "DeleteTags":
		l.tag(a)
	}
	return change{was, l.Instance}, Refusal{}, then
}
