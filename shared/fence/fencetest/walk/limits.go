package walk

// abstracted says what two states may differ in and still be one.
const abstracted = `what the walk takes for the same:
- times on the same side of every limit that they are compared with; of each state the first
  that was found stands for all, with its times as they are
- looks between two limits: the next one comes at once, when it is due, when a call's claim is
  over, or past a limit of the phase
- what is told and never read: history, past fences, conditions, messages, errors in words,
  numbers of calls, batches and pods (TestSecondWalk keeps history and past)
- the second try and every later one (TestSecondWalk counts to three)
- what a phase and those after it read no more
- boots and Node objects beyond the second, marks of a Lease beyond the third
- pods and attachments beyond one, and settings beyond the one choice that package specs has
- fences that go on like any other, from where they do: each kind of fence is a world of its
  own up to there`

// uncovered says what no state of the walk has.
const uncovered = `what the walk does not come to:
- two invocations at once, a save that fails, a process that dies: here each look ends before
  the next one (test/model, test/chaos)
- two fences at once, and what the ledger decides: the gate says yes, or TooManyUnhealthy
  (package admission, test/model)
- how a look is made of API objects (package look), and a record that is written as JSON and
  read again
- two kinds of fence in one, such as a dump of a machine that a switch cuts off; but two levels,
  a release at a rate, and those that have a world for both, such as specs.JoinedFabric
- a third level of devices for power, and two devices of the isolation
- a condition that holds no more once a machine was cut off from its network for it, where its
  Lease alone spoke before
- clocks that go back or lie apart (clockback_test.go, waits_test.go)
- whether each state comes to an end: one of sixteen is followed, and each whose power we have
  cut; none in the worlds of specs.Device and specs.Manual
- an approval that is given, and one that a policy asks for (TestNeverBegins, TestBeginsOnAPersonsWord,
  TestReportsAloneWaitForAPerson)
- drains, a person's word, and a device that may lie, beyond the states that asides bounds
- parts of a look that are the same in every look, as Unvaried lists them`

// Unvaried are the parts of a look that are the same in every look of the walk, and what tests
// them instead. Node.Plans is not among them: package hold alone decides by Plans, and each of its rows is tried at the gate.
var Unvaried = map[string]string{
	"Brakes.Ended":             "against_test.go",
	"Brakes.Lost":              "it is only told; package admission",
	"Brakes.Unwatched":         "restored_test.go",
	"Brakes.Zones":             "package policy; the walk's windows are in UTC",
	"Call.Blind":               "isolation_test.go",
	"Call.Credentials":         "denied_test.go",
	"Call.Denied":              "denied_test.go",
	"Call.Identity":            "it is only told",
	"Call.Jobs":                "jobs_test.go",
	"Call.Late":                "jobs_test.go",
	"Call.Stopping":            "stopping_test.go",
	"Call.Whose":               "it is only told",
	"Call.Why":                 "isolation_test.go",
	"DrainAsked":               "drainback_test.go",
	"Dump.Source":              "it is only told",
	"Lease.Renewal":            "nodegone_test.go, kdumpproof_test.go",
	"Lease.StillSince":         "suspect_test.go",
	"Left.Hidden":              "isolation_test.go",
	"Left.Names":               "batch_test.go",
	"Left.Stay":                "isolation_test.go",
	"Left.Terminating":         "batch_test.go, orphans_test.go",
	"Machine.Held":             "package policy; Decide does not read it",
	"Machine.Message":          "it is only told",
	"Machine.NodeName":         "package policy; Decide does not read it",
	"Machine.NodeUID":          "package policy; Decide does not read it",
	"Machine.NotBefore":        "package policy; Decide does not read it",
	"Machine.Since":            "failedmachine_test.go",
	"Node.ControlPlane":        "begins_test.go",
	"Node.ControlPlaneMark":    "it is only told",
	"Node.Labels":              "package policy; Decide does not read them",
	"Node.OutOfServiceForeign": "again_test.go",
	"Node.ScaleDownOurs":       "again_test.go",
	"Node.Version":             "it is for whoever acts",
	"ReservedCall":             "longcalls_test.go",
	"Self":                     "begins_test.go, begun_test.go",
	"Verdict.Again":            "test/story",
	"Verdict.Message":          "it is only told",
	"Verdict.Reason":           "package admission",
}
