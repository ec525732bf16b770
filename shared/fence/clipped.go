package fence

import "github.com/nodefence/nodefence/shared/clip"

func clipped(msg string) string { return clip.To(longestMessage, msg) }

// longestMessage bounds what a status says, as its schema does.
const longestMessage = 1024

// longestName is that of a node's name and of most others, longestUID that of a UID.
const longestName, longestUID = 253, 64
