package judge

// withoutRule is printed with each verdict: promises, and parts of them, that no rule of the judge holds against a
// history.
var withoutRule = []string{
	"brakes that stood for less than 5s before a claim: reads of the API server are in no log",
	"S15: storms that the FenceLedger does not have, and storms of one domain; nobody counts the unhealthy nodes again",
	"S14: limits of FenceBudgets, and the order of the fences that wait",
	"S13: the members of etcd that a fence of the control plane needs",
	"S25: the pause of an adopted policy that is too old",
	"S1: the messages of a dump, the answers of devices without a journal, and the answers of checks",
}
