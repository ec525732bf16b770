package apiserver

import (
	"testing"
	"time"
)

// TestAnEnrolmentThatSomebodyDeletesIsWrittenAgain, while its node is healthy, and
// not only when another replica leads.
func TestAnEnrolmentThatSomebodyDeletesIsWrittenAgain(t *testing.T) {
	f := newFakeAPI(t)
	f.set(nodesURL, nodeIn("a", "True", 0))
	s, _ := start(t, f, time.Hour)
	const name = "fence-enrolled-a"
	eventually(t, func() bool { return f.enrolled(name) != nil })
	eventually(t, func() bool { s.enrol.mu.Lock(); defer s.enrol.mu.Unlock(); return s.enrol.known["a"].uid != "" })
	f.remove(mapsURL, name)
	eventually(t, func() bool { return f.enrolled(name)["node_uid"] == "node-a" })
}

// TestTheEnrolmentOfANodeThatIsIllIsNotWritten: an unhealthy node may claim to be another
// machine (S11: the device is the node's own).
func TestTheEnrolmentOfANodeThatIsIllIsNotWritten(t *testing.T) {
	f := newFakeAPI(t)
	f.set(nodesURL, nodeIn("a", "False", 0))
	f.set(mapsURL, enrolmentOf("node-a", "machine-a"))
	s, _ := start(t, f, time.Hour)
	known := func() bool { s.enrol.mu.Lock(); defer s.enrol.mu.Unlock(); _, ok := s.enrol.known["a"]; return ok }
	eventually(t, known)
	f.remove(mapsURL, "fence-enrolled-a")
	eventually(t, func() bool { return !known() })
	f.set(nodesURL, nodeIn("b", "True", 0)) // what comes after it is written
	eventually(t, func() bool { return f.enrolled("fence-enrolled-b") != nil })
	if got := f.enrolled("fence-enrolled-a"); got != nil {
		t.Errorf("enrolled as %v", got)
	}
}
