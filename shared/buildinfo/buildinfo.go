// Package buildinfo says from which sources a program was built.
//
// What a reader must not get wrong: nothing is decided by a version. Two programs of different versions
// work on one record by status.minReaderVersion (S21).
package buildinfo

import (
	"cmp"
	"runtime/debug"
)

// Unknown is the version of a program without build information, such as a test.
const Unknown = "unknown"

// Version is the version of the module, or the commit that the program was built from.
func Version() string {
	info, _ := debug.ReadBuildInfo()
	return versionOf(info)
}

// versionOf prefers a version over a commit. The linker names a module without a version "(devel)".
func versionOf(info *debug.BuildInfo) string {
	if info == nil {
		return Unknown
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	revision, changed := "", ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			revision = s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			changed = "+dirty"
		}
	}
	return cmp.Or(revision, Unknown) + changed
}
