package device

import "context"

// Rights is for drivers that can find out which rights their account lacks, without
// switching anything.
type Rights interface {
	// Lacking returns all rights that the driver needs and its account lacks. An error
	// means that the rights are unknown.
	Lacking(ctx context.Context) ([]string, error)
}
