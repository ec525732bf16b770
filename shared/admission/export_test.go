package admission

// What the tests of this package hold to its promises and nobody else needs.

const (
	Accepted          = accepted
	AcceptingFences   = acceptingFences
	AllBudgets        = allBudgets
	AskConcurrent     = askConcurrent
	AskStorm          = askStorm
	DisruptionAllowed = disruptionAllowed
	FencingAllowed    = fencingAllowed
	GoneCoolDown      = goneCoolDown
	HighestCount      = highestCount
	LongAgo           = longAgo
	LongestPeriod     = longestPeriod
	MachineWait       = machineWait
	MachineWaits      = machineWaits
	MaxAdmitted       = maxAdmitted
	MaxBudgets        = maxBudgets
	MaxHeld           = maxHeld
	MaxLately         = maxLately
	MaxSlots          = maxSlots
	MaxStorms         = maxStorms
	MaxUnderWay       = maxUnderWay
	NodesPresent      = nodesPresent
)

var (
	Chose         = chose
	FailedNow     = failedNow
	MachineOf     = machineOf
	MayBegin      = mayBegin
	MissingNow    = missingNow
	PlaceUnderWay = placeUnderWay
	Rate          = rate
	Rebuild       = rebuild
	PlaceSlots    = placeSlots
	Reserve       = reserve
	RoomOf        = roomOf
	Scopes        = scopes
	WithDryRuns   = withDryRuns
	WithMissing   = withMissing
)

// Listed is as much of a list as a status has room for.
func Listed[T any](all []T) ([]T, int32) { return listed(all) }
