package knative

import (
	"os"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/nodefence/nodefence/functions"
)

// TestServingGivesAnInvocationWhatTheFunctionsAreTold: unless both are set otherwise, what Knative
// gives an invocation is what the functions take it for (S7, S10).
func TestServingGivesAnInvocationWhatTheFunctionsAreTold(t *testing.T) {
	text, err := os.ReadFile("overlays/serving/kustomization.yaml")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`path: /spec/template/spec/timeoutSeconds\n\s+value: (\d+)`).FindAllSubmatch(text, -1)
	if len(found) != 1 {
		t.Fatalf("timeoutSeconds is set %d times", len(found))
	}
	seconds, err := strconv.Atoi(string(found[0][1]))
	if told := (functions.Settings{}).InvocationTimeout(); err != nil || time.Duration(seconds)*time.Second != told {
		t.Errorf("Knative gives an invocation %d s, and the functions are told %s (%v)", seconds, told, err)
	}
}
