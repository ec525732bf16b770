package policy

// What the tests of this package hold to its promises and nobody else needs.

const (
	Furthest    = furthest
	MaxPolicies = maxPolicies
)
