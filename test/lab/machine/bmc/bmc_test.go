package bmc

import (
	"context"
	"errors"
	"net"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/bougou/go-ipmi/pkg/client"
	control "github.com/bougou/go-ipmi/pkg/command/chassis"
	"github.com/bougou/go-ipmi/pkg/types"
	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/nodefence/nodefence/test/lab/await"
)

// fake is a machine that notes what is done to it.
type fake struct {
	mu    sync.Mutex
	power bool
	calls []string
}

func (f *fake) Power() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.power
}

func (f *fake) note(call string, power bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls, f.power = append(f.calls, call), power
}

func (f *fake) PowerOff() { f.note("PowerOff", false) }
func (f *fake) PowerOn()  { f.note("PowerOn", true) }
func (f *fake) Reset()    { f.note("Reset", true) }
func (f *fake) ShutDown() { f.note("ShutDown", false) }

func (f *fake) done() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]string{}, f.calls...)
}

var identity = uuid.MustParse("00112233-4455-6677-8899-aabbccddeeff")

func serve(t *testing.T, machine Machine) *BMC {
	t.Helper()
	b, err := Listen(Config{Machine: machine, UUID: identity, Username: "operator-0", Password: "correct-horse"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- b.Serve(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return b
}

// dial opens a session, as a client that sends everything once does. patience is how long a
// client waits for one answer: a busy machine gives late ones.
const patience = 3 * time.Second

func dial(t *testing.T, b *BMC) (*client.Client, error) {
	t.Helper()
	host, port, err := net.SplitHostPort(b.Addr())
	if err != nil {
		t.Fatal(err)
	}
	number, err := strconv.Atoi(port)
	if err != nil {
		t.Fatal(err)
	}
	c, err := client.NewClient(host, number, "operator-0", "correct-horse")
	if err != nil {
		t.Fatal(err)
	}
	c.WithInterface(client.InterfaceLanplus).WithCipherSuiteID(types.CipherSuiteID3).
		WithTimeout(patience).WithRetry(0)
	return c, c.Connect(t.Context())
}

// hangUp closes the session: a BMC has only four.
func hangUp(c *client.Client) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	_ = c.Close(ctx) // the BMC may have dropped the session
}

// answer is what a client sees of one command and of a read after it.
type answer struct {
	Session bool
	// Code is the command's completion code, or -1 if no answer came.
	Code int
	On   bool
}

func ask(t *testing.T, b *BMC, command control.ChassisControl) answer {
	t.Helper()
	c, err := dial(t, b)
	defer hangUp(c)
	if err != nil {
		return answer{}
	}
	_, err = c.ChassisControl(t.Context(), command)
	return answer{Session: true, Code: codeOf(err), On: reads(t, b)}
}

func reads(t *testing.T, b *BMC) bool {
	t.Helper()
	c, err := dial(t, b)
	defer hangUp(c)
	if err != nil {
		t.Fatal(err)
	}
	status, err := c.GetChassisStatus(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return status.PowerIsOn
}

func codeOf(err error) int {
	var refused *types.ResponseError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &refused):
		return int(refused.CompletionCode())
	}
	return -1
}

func TestFaults(t *testing.T) {
	const (
		off, on, cycle, reset, soft = control.ChassisControlPowerDown, control.ChassisControlPowerUp,
			control.ChassisControlPowerCycle, control.ChassisControlHardReset, control.ChassisControlSoftShutdown
	)
	for name, tc := range map[string]struct {
		fault string
		power bool
		send  control.ChassisControl
		want  answer
		// done is what happens to the machine, at the latest in a moment.
		done []string
	}{
		"off":                                 {fault: "none", power: true, send: off, want: answer{Session: true}, done: []string{"PowerOff"}},
		"on":                                  {fault: "none", send: on, want: answer{Session: true, On: true}, done: []string{"PowerOn"}},
		"reset":                               {fault: "none", power: true, send: reset, want: answer{Session: true, On: true}, done: []string{"Reset"}},
		"cycle":                               {fault: "none", power: true, send: cycle, want: answer{Session: true, On: true}, done: []string{"Reset"}},
		"soft shutdown":                       {fault: "none", power: true, send: soft, want: answer{Session: true}, done: []string{"ShutDown"}},
		"reset of a machine that is off":      {fault: "none", send: reset, want: answer{Session: true, Code: 0xd5}},
		"off is off":                          {fault: "none", send: off, want: answer{Session: true}, done: []string{"PowerOff"}},
		"conflict when off":                   {fault: "conflict-when-off", send: off, want: answer{Session: true, Code: 0xd5}},
		"no conflict when on":                 {fault: "conflict-when-off", power: true, send: off, want: answer{Session: true}, done: []string{"PowerOff"}},
		"refused":                             {fault: "refuse", power: true, send: off, want: answer{Session: true, Code: 0xd5, On: true}},
		"refused for lack of a privilege":     {fault: "refuse=0xd4", power: true, send: off, want: answer{Session: true, Code: 0xd4, On: true}},
		"accepted and ignored":                {fault: "accept-and-ignore", power: true, send: off, want: answer{Session: true, On: true}},
		"a lie":                               {fault: "lie", power: true, send: off, want: answer{Session: true}},
		"slow, and honest":                    {fault: "slow=10s", power: true, send: off, want: answer{Session: true, On: true}, done: []string{"PowerOff"}},
		"early, and the effect comes later":   {fault: "early=2s", power: true, send: off, want: answer{Session: true}, done: []string{"PowerOff"}},
		"no session with the wrong password":  {fault: "wrong-password", power: true, send: off},
		"no session with a BMC that hangs":    {fault: "hang", power: true, send: off},
		"carried out, but the answer is lost": {fault: "reset-connection", power: true, send: off, want: answer{Session: true, Code: -1}, done: []string{"PowerOff"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			machine := &fake{power: tc.power}
			b := serve(t, machine)
			if err := b.SetFault(tc.fault); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, ask(t, b, tc.send)); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
			want := append([]string{}, tc.done...)
			await.That(t, "effect on the machine", func() bool { return cmp.Equal(want, machine.done()) })
		})
	}
}

func TestEarlyIsAheadOfTheMachine(t *testing.T) {
	t.Parallel() // it waits
	machine := &fake{power: true}
	b := serve(t, machine)
	if err := b.SetFault("early=10s"); err != nil {
		t.Fatal(err)
	}
	if got := ask(t, b, control.ChassisControlPowerDown); got.On {
		t.Error("the BMC does not say off")
	}
	if !machine.Power() {
		t.Error("the machine is off already")
	}
	await.That(t, "the machine to be off", func() bool { return !machine.Power() })
}

func TestAFaultEnds(t *testing.T) {
	for name, first := range map[string]answer{
		"hang":           {},
		"wrong-password": {},
		"lie":            {Session: true},
		"refuse":         {Session: true, Code: 0xd5, On: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			machine := &fake{power: true}
			b := serve(t, machine)
			if err := b.SetFault(name); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(first, ask(t, b, control.ChassisControlPowerDown)); diff != "" {
				t.Errorf("with the fault (-want +got):\n%s", diff)
			}
			if err := b.SetFault("none"); err != nil {
				t.Fatal(err)
			}
			if !reads(t, b) {
				t.Error("a machine that was never off reads as off")
			}
			if diff := cmp.Diff(answer{Session: true}, ask(t, b, control.ChassisControlPowerDown)); diff != "" {
				t.Errorf("without (-want +got):\n%s", diff)
			}
		})
	}
}

func TestEverySecondConnectionIsReset(t *testing.T) {
	t.Parallel() // it waits
	b := serve(t, &fake{power: true})
	if err := b.SetFault("reset-connection"); err != nil {
		t.Fatal(err)
	}
	var got []int
	for range 4 {
		got = append(got, ask(t, b, control.ChassisControlPowerDown).Code)
	}
	if diff := cmp.Diff([]int{-1, 0, -1, 0}, got); diff != "" {
		t.Errorf("codes (-want +got):\n%s", diff)
	}
}
