package ipmi_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"github.com/nodefence/nodefence/shared/device/devicetest"
)

// TestPyghmiConformance is the same suite against a third BMC.
func TestPyghmiConformance(t *testing.T) { devicetest.Run(t, pyghmiHarness(t)) }

func pyghmiHarness(t testing.TB) devicetest.Harness {
	t.Helper()
	needsPyghmi(t)
	n := newNursery(t)
	return devicetest.Harness{
		Against:  "ipmi/pyghmi",
		Secrets:  []string{password, changed},
		Identity: guid,
		New: func(t testing.TB, fault string) devicetest.Machine {
			s := n.start(t)
			s.port, s.play = behind(t, s.at, fault)
			s.setFault(fault)
			return devicetest.Machine{Driver: s, On: s.on, Commands: s.told, SetFault: s.setFault, Settle: s.settle}
		},
	}
}

// python is Debian's: another one does not see its packages.
const python = "/usr/bin/python3"

func needsPyghmi(t testing.TB) {
	t.Helper()
	if err := exec.Command(python, "-c", "import pyghmi.ipmi.bmc").Run(); err != nil {
		t.Skip("pyghmi is missing: apt-get install python3-pyghmi")
	}
}

// pyghmi serves a machine that is the same files as ipmi_sim's. The BMC sends its GUID
// as it is printed.
const pyghmi = `import os, signal, sys, uuid
import pyghmi.ipmi.bmc as bmc

def read(name):
    with open(name) as f:
        return f.read().strip()

class Machine(bmc.Bmc):
    pretends = None

    def fault(self):
        now = read("fault")
        if now not in ("early", "lie"):
            self.pretends = None
        return now

    def get_power_state(self):
        if self.fault() == "mute":
            raise NotImplementedError
        return int(read("power")) if self.pretends is None else self.pretends

    def switch(self, to):
        fault = self.fault()
        if fault in ("mute", "refuse") or fault == "conflict-when-off" and int(read("power")) == to:
            return 0xd5
        with open("told", "a") as f:
            f.write("power %d\n" % to)
        if fault in ("early", "lie"):
            self.pretends = to
        elif fault not in ("accept-and-ignore", "slow"):
            with open("power.new", "w") as f:
                f.write("%d\n" % to)
            os.rename("power.new", "power")
        return 0

    def power_off(self):
        return self.switch(0)

    def power_on(self):
        return self.switch(1)

    def control_chassis(self, request, session):
        if self.fault() == "reset-connection":
            self.switch(request["data"][0])
            return
        super().control_chassis(request, session)

    def handle_raw_request(self, request, session):
        if request["netfn"] == 6 and request["command"] == 0x37:
            other = self.fault() == "other"
            session.send_ipmi_response(data=list(uuid.UUID(int=7).bytes if other else self.uuid.bytes))
        else:
            super().handle_raw_request(request, session)

# To import pyghmi takes longer than all else: each machine is a child of one process.
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
for line in sys.stdin:
    folder, port, user, guid = line.split()
    child = os.fork()
    if child == 0:
        os.chdir(folder)
        Machine({user: read("password")}, port=int(port), address="127.0.0.1", bmcuuid=uuid.UUID(guid)).listen(30)
    print(child, flush=True)
`

// nursery is the process whose children are the BMCs.
type nursery struct {
	in  io.Writer
	out *bufio.Reader
}

func newNursery(t testing.TB) *nursery {
	t.Helper()
	cmd := exec.Command(python, "-c", pyghmi)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close() // it ends by that
		_ = cmd.Wait()
	})
	return &nursery{in, bufio.NewReader(out)}
}

// start is a BMC that ends with t. Where one ends before it listens, as when another program
// has just tried its port, another port is taken.
func (n *nursery) start(t testing.TB) *sim {
	t.Helper()
	for range 3 {
		if s := n.try(t); s.listens() {
			s.await()
			return s
		}
		t.Log("the BMC ended before it listened: see its words on stderr")
	}
	t.Fatal("no BMC came to listen")
	return nil
}

func (n *nursery) try(t testing.TB) *sim {
	t.Helper()
	s := newSim(t)
	s.write("password", password)
	fmt.Fprintln(n.in, s.dir, s.at, user, guid)
	if _, err := fmt.Fscanln(n.out, &s.pid); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Kill(s.pid, syscall.SIGKILL) })
	s.Driver = dial(t, s.port, password, nil)
	return s
}

// listens waits until its port is open; false if its process ends before.
func (s *sim) listens() bool {
	for s.refused() {
		if err := syscall.Kill(s.pid, 0); err != nil {
			return false
		}
	}
	return true
}
