package power

import "github.com/nodefence/nodefence/shared/talk"

// Call is for what a device is opened: one call under one claim.
type Call = talk.Call
