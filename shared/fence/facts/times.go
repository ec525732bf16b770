package facts

import "time"

// The times that are not in a policy, all in one place.
const (
	// Settle lies between the two reads of a proof.
	Settle = 2 * time.Second
	// DefaultLead is that of a device that declares none.
	DefaultLead = 5 * time.Second
	// ProofValidity: a release needs a proof no older, where calls take no longer than usual
	// (ProofHolds).
	ProofValidity = 30 * time.Second
	// DumpValidity: pods are deleted on a message of a dump no older. It must be shorter
	// than any machine takes from its last message to a kubelet that starts pods.
	DumpValidity = 5 * time.Second
	// DecisionValidity: a yes older than this is asked for again (S17), where calls take no
	// longer than usual (AdmissionValidity).
	DecisionValidity = 60 * time.Second
	// ReservationKept is how long a reservation that nothing came of counts against
	// others: longer than a gate goes on with it, by what two clocks may lie apart.
	// API servers' may by 2 s, and each process knows its own to half a second. Admission
	// keeps each slot for that, and for as much longer as its calls may take.
	ReservationKept = DecisionValidity + 5*time.Second
	// Resync is the longest that a lost event may delay a fence (S19).
	Resync = 30 * time.Second
	// Handover is how soon the next owner is woken again if the reply that
	// should wake it was lost.
	Handover = 5 * time.Second
	// ActWithin bounds an action on Kubernetes; past it the record is looked at again.
	ActWithin = 10 * time.Second
	// StopTakes is how long a machine on its way off is waited for before that
	// counts as a failed try: clouds take minutes.
	StopTakes = 10 * time.Minute
	// Poll lies between two looks at something that we wait to see.
	Poll = time.Second
	// DrainPoll lies between two tries to have pods leave, and two looks at those that are leaving.
	DrainPoll = 3 * time.Second
	// ShortSilence is how long a node must not live before it is fenced without a drain, where its
	// policy gives no time for that.
	ShortSilence = 30 * time.Second
	// ProbePoll is the least time between two reads of a machine for which only its
	// Lease speaks.
	ProbePoll = 3 * time.Second
	// AskPicture lies between two looks for a picture of the Leases.
	AskPicture = 5 * time.Second
	// PictureLag is how long after its time a still Lease may come into the picture.
	PictureLag = time.Second
	// SlowRetry bounds the doubling interval of tries that never end (S25).
	SlowRetry = 5 * time.Minute
	// MaxHistory and MaxPast bound the record.
	MaxHistory = 64
	MaxPast    = 10
	// MostPast is what the record keeps of a day in which its power was cut often.
	MostPast = 110
	// SlowestRenewal is the longest time between two renewals of a Lease that is believed.
	SlowestRenewal = 25 * time.Second
	// CutJudged is how long after its return a node is waited for to say its boot ID once more. A kubelet writes its
	// unchanged status every 5 minutes (nodeStatusReportFrequency), and 2.5 minutes later at most after a change.
	CutJudged = 8 * time.Minute
	// CutsCount is how long a power cut counts against the node's limit.
	CutsCount = 24 * time.Hour
	// ReportWithin is how long the report of a fence is tried to be written while its node is healthy. ReportSoon is how
	// long where somebody waits for the end of the fence: the node is not healthy, or the record is deleted.
	ReportWithin = 10 * time.Minute
	ReportSoon   = time.Minute
)

// MaxJobs is how many of a fence's Jobs are kept in its record.
const MaxJobs = 16

// MaxDenied bounds the list: a node has no more levels and isolation devices.
const MaxDenied = 8
