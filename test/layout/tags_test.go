package layout

import (
	"regexp"
	"strings"
	"testing"
)

// programTags are the build tags of released programs.
func programTags(t *testing.T) string {
	t.Helper()
	tags := regexp.MustCompile(`(?m)^PROGRAM_TAGS := (\S+)$`).FindStringSubmatch(read(t, "../../Makefile"))
	if tags == nil {
		t.Fatal("the Makefile names no tags")
	}
	return tags[1]
}

// TestProgramsHaveTheSameTags, by whatever they are built.
func TestProgramsHaveTheSameTags(t *testing.T) {
	tags := programTags(t)
	for file, line := range map[string]string{
		"Makefile": `go build.*/cmd/nodefence(-source)?( .*)?`, ".ko.yaml": `.*/cmd/nodefence(-source)?,.*`, "infra/knative/Dockerfile": `go build.*`,
		"infra/release/programs": `go build.*`, "infra/aws/README.md": `go build.*`,
	} {
		found := regexp.MustCompile(`(?m)`+line+`$`).FindAllString(read(t, "../../"+file), -1)
		if len(found) == 0 {
			t.Errorf("%s builds nothing", file)
		}
		for _, l := range found {
			if !strings.Contains(l, tags) && !strings.Contains(l, "-tags $(PROGRAM_TAGS)") {
				t.Errorf("%s: %s: want the tags %s", file, l, tags)
			}
		}
	}
}
