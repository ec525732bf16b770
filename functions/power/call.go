package power

import "github.com/nodefence/nodefence/shared/device/call"

// Call is for what a device is opened: one call under one claim.
type Call = call.Claim
