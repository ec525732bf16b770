package real

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseHierarchy(t *testing.T) {
	for name, tc := range map[string]struct {
		line string
		want hierarchy
		is   bool
	}{
		"one controller": {
			line: "30 25 0:27 / /sys/fs/cgroup/freezer rw,relatime - cgroup cgroup rw,freezer",
			want: hierarchy{"/sys/fs/cgroup/freezer", []string{"freezer"}}, is: true,
		},
		"two controllers, with optional fields": {
			line: "30 25 0:27 / /sys/fs/cgroup/cpu,cpuacct rw,relatime shared:9 - cgroup cgroup rw,cpu,cpuacct",
			want: hierarchy{"/sys/fs/cgroup/cpu,cpuacct", []string{"cpu", "cpuacct"}}, is: true,
		},
		"systemd's": {
			line: "30 25 0:27 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,xattr,release_agent=/lib/systemd/systemd-cgroups-agent,name=systemd",
			want: hierarchy{"/sys/fs/cgroup/systemd", []string{"name=systemd"}}, is: true,
		},
		"cgroup v2":           {line: "30 25 0:27 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw"},
		"another file system": {line: "30 25 0:27 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755"},
		"half a line":         {line: "30 25 0:27 /"},
	} {
		t.Run(name, func(t *testing.T) {
			got, is := parseHierarchy(tc.line)
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(hierarchy{})); diff != "" || is != tc.is {
				t.Errorf("is one: %v\n%s", is, diff)
			}
		})
	}
}
