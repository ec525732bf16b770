package power

import "github.com/nodefence/nodefence/shared/devicecall"

// Call is for what a device is opened: one call under one claim.
type Call = devicecall.Claim
