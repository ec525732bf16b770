package buildinfo

import (
	"runtime/debug"
	"testing"
)

// TestVersion: a version comes before a commit, and what is neither says so.
func TestVersion(t *testing.T) {
	commit := debug.BuildSetting{Key: "vcs.revision", Value: "3f0c9a52"}
	dirty := debug.BuildSetting{Key: "vcs.modified", Value: "true"}
	for name, c := range map[string]struct {
		info *debug.BuildInfo
		want string
	}{
		"a release":                  {&debug.BuildInfo{Main: debug.Module{Version: "v1.2.3"}, Settings: []debug.BuildSetting{commit}}, "v1.2.3"},
		"a commit":                   {&debug.BuildInfo{Main: debug.Module{Version: "(devel)"}, Settings: []debug.BuildSetting{commit, {Key: "vcs.modified", Value: "false"}}}, "3f0c9a52"},
		"a commit with changes":      {&debug.BuildInfo{Settings: []debug.BuildSetting{commit, dirty}}, "3f0c9a52+dirty"},
		"neither version nor commit": {&debug.BuildInfo{Main: debug.Module{Version: "(devel)"}}, Unknown},
		"no build information":       {nil, Unknown},
	} {
		if got := versionOf(c.info); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
