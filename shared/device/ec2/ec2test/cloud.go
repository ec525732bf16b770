package ec2test

import (
	"slices"
	"sync"
	"time"
)

// State is an instance's.
type State string

// The states of an instance's life.
const (
	Pending      State = "pending"
	Running      State = "running"
	ShuttingDown State = "shutting-down"
	Terminated   State = "terminated"
	Stopping     State = "stopping"
	Stopped      State = "stopped"
)

// codes are the API's numbers for the states.
var codes = map[State]int{Pending: 0, Running: 16, ShuttingDown: 32, Terminated: 48, Stopping: 64, Stopped: 80}

// goals are the states to which a state leads by itself.
var goals = map[State]State{Pending: Running, Stopping: Stopped, ShuttingDown: Terminated}

// Instance is an instance, as it is or as it is shown.
type Instance struct {
	ID    string
	State State
	// Reason is the code of the reason for its state; empty if there is none.
	Reason string
	// Hibernates: it was launched with hibernation.
	Hibernates bool
	// Zone is the availability zone.
	Zone string
	// Interfaces are its network interfaces.
	Interfaces []Interface
	Tags       map[string]string
}

// Interface is a network interface with its security groups.
type Interface struct {
	ID     string
	Groups []string
	// Next are the groups that it will have at Settle, if the change is held.
	Next []string
}

// Action is one request that was understood, in the order of arrival.
type Action struct {
	At time.Time
	// Name is the API's word, such as StopInstances.
	Name     string
	Instance string
	// DryRun: the request was only to be judged.
	DryRun bool
	// Force and SkipOsShutdown are parameters of a stop.
	Force, SkipOsShutdown bool
	// Interface and Groups belong to a change of security groups, Tags to a change of tags.
	Interface string
	Groups    []string
	Tags      map[string]string
	// Refused is the error code; empty if it was accepted.
	Refused string
}

// Cloud is one account in one region. Its fields are set before it is used.
type Cloud struct {
	// StopTakes and StartTakes are the times from an accepted request to its effect.
	StopTakes, StartTakes time.Duration
	// OnStop is called when an instance has just been stopped or terminated, and
	// OnStart when it runs; not with any lock held.
	OnStop, OnStart func(instanceID string)
	// Secrets are the secret keys of the accounts that are let in, by access key ID.
	// Without any, every request is let in, unsigned ones too.
	Secrets map[string]string
	// Deaf makes the API ignore DryRun and carry the request out.
	Deaf bool
	// Show changes what a DescribeInstances tells of an instance.
	Show func(Instance) Instance

	mu        sync.Mutex
	instances map[string]*life
	actions   []Action
	refusals  map[string]Refusal
	held      bool
	hooks     sync.WaitGroup // OnStop and OnStart that are running
}

// life is an instance, and what is about to happen to it.
type life struct {
	Instance
	// turn counts its changes, so that the timer of an earlier change is recognised.
	turn int
}

// Put adds instances, or sets their state at once and without a hook.
func (c *Cloud) Put(all ...Instance) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.instances == nil {
		c.instances = map[string]*life{}
	}
	for _, i := range all {
		l := c.instances[i.ID]
		if l == nil {
			l = &life{}
			c.instances[i.ID] = l
		}
		l.Instance, l.turn = i, l.turn+1
	}
}

// StateOf is an instance's true state; empty if there is none.
func (c *Cloud) StateOf(id string) State {
	c.mu.Lock()
	defer c.mu.Unlock()
	if l := c.instances[id]; l != nil {
		return l.State
	}
	return ""
}

// Actions are all requests that came.
func (c *Cloud) Actions() []Action {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.actions)
}

// Hold keeps instances in states such as stopping until Settle.
func (c *Cloud) Hold(held bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.held = held
}

// Settle moves all such instances to their final states, and waits until the instances
// whose time had already come have arrived.
func (c *Cloud) Settle() {
	c.mu.Lock()
	var all []*life
	for _, l := range c.instances {
		all = append(all, l)
	}
	c.mu.Unlock()
	for _, l := range all {
		c.arrive(l, -1)
		c.rewire(l)
	}
	c.hooks.Wait()
}

// Terminate is what another program does, for example an Auto Scaling group.
func (c *Cloud) Terminate(id string) {
	c.mu.Lock()
	l := c.instances[id]
	if l == nil || l.State == Terminated {
		c.mu.Unlock()
		return
	}
	then := c.leave(l, ShuttingDown)
	c.mu.Unlock()
	then()
}

// leave starts a change of state. Call the function that it returns after the lock has been
// released.
func (c *Cloud) leave(l *life, via State) func() {
	l.State, l.turn = via, l.turn+1
	turn, takes := l.turn, c.StopTakes
	if via == Pending {
		takes = c.StartTakes
	}
	switch {
	case c.held:
		return func() {}
	case takes > 0:
		time.AfterFunc(takes, func() { c.arrive(l, turn) })
		return func() {}
	}
	return func() { c.arrive(l, turn) }
}

// arrive ends the change of one turn, or any change if the turn is negative.
func (c *Cloud) arrive(l *life, turn int) {
	c.mu.Lock()
	goal, under := goals[l.State]
	if !under || (turn >= 0 && turn != l.turn) {
		c.mu.Unlock()
		return
	}
	l.State = goal
	id, hook := l.ID, c.OnStop
	if goal == Running {
		hook = c.OnStart
	}
	c.hooks.Add(1)
	defer c.hooks.Done()
	c.mu.Unlock()
	if hook != nil {
		hook(id)
	}
}
