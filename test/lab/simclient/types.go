package simclient

import "time"

// Status is the answer to GET /v1/status.
type Status struct {
	Nodes []Node `json:"nodes"`
}

// Node is a simulated machine and its BMC.
type Node struct {
	Name       string `json:"name"`
	Power      string `json:"power"`
	State      string `json:"state"`
	BootID     string `json:"bootID"`
	SystemUUID string `json:"systemUUID"`
	BMC        string `json:"bmc"`
	Username   string `json:"username"`
	Password   string `json:"password"`
	Fault      string `json:"fault"`
	// Outlets are the addresses of the two outlets that feed the machine.
	Outlets map[string]string `json:"outlets"`
}

// Command is a command that a BMC got.
type Command struct {
	Time     time.Time `json:"time"`
	Command  string    `json:"command"`
	Accepted bool      `json:"accepted"`
}

// Writers is the answer to GET /v1/writers.
type Writers struct {
	Records []Record `json:"records"`
	// Overlaps are the times at which a volume had two writers, in the form in which the machines
	// report them. A single one is a failure.
	Overlaps []any `json:"overlaps"`
}

// Record is a span in which a pod on a machine wrote to a volume.
type Record struct {
	Volume  string     `json:"volume"`
	Machine string     `json:"machine"`
	Node    string     `json:"node"`
	Pod     string     `json:"pod"`
	From    time.Time  `json:"from"`
	To      *time.Time `json:"to"`
}
