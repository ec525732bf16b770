package device

import "context"

// Rights is for drivers that can ask what their account may not do, and switch nothing by
// asking.
type Rights interface {
	// Lacking are all the rights that the driver needs and its account has not. An error
	// is that nobody knows.
	Lacking(ctx context.Context) ([]string, error)
}
