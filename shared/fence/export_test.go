package fence

// What the tests of this package hold to its promises and nobody else needs.

const (
	CheckGrace     = checkGrace
	CheckPoll      = checkPoll
	ClockSlack     = clockSlack
	CutsCount      = cutsCount
	DeletionWindow = deletionWindow
	DeniedPause    = deniedPause
	DeniedTries    = deniedTries
	DumpApart      = dumpApart
	LongestVolume  = longestVolume
	MachineShows   = machineShows
	MaxHistory     = maxHistory
	MaxJobs        = maxJobs
	MaxPast        = maxPast
	MostPast       = mostPast
	SlowestRenewal = slowestRenewal
)

var (
	CallLimit    = callLimit
	Dead         = dead
	Lead         = lead
	Owed         = owed
	Permitted    = permitted
	ReadValidity = readValidity
	Why          = why
)
