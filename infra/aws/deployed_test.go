package aws

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestWhatIsAdoptedIsDeployed: the function adopt is there, with all that belongs to it, only where
// FenceAgentsRemediations are adopted. Every function is told what is adopted, and where.
func TestWhatIsAdoptedIsDeployed(t *testing.T) {
	belongs := []string{"Adopt", "AdoptRole", "AdoptAccess", "AdoptLog", "AdoptSilentAlarm"}
	for kinds, want := range map[string]bool{"": false, "mhc": false, "far": true, "far,mhc": true} {
		s, err := stack(t).With(map[string]string{"AdoptKinds": kinds, "AdoptNamespaces": "a,b", "RequestNamespaces": "b"})
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range belongs {
			if _, is := s.Resources[id]; is != want {
				t.Errorf("%q adopts, and %s is there: %v", kinds, id, is)
			}
		}
		told := fmt.Sprint(s.Globals.Function["Environment"])
		for variable, value := range map[string]string{"NODEFENCE_ADOPT": kinds, "NODEFENCE_ADOPT_NAMESPACES": "a,b", "NODEFENCE_REQUEST_NAMESPACES": "b"} {
			if !strings.Contains(told+" ", variable+":"+value+" ") && !strings.Contains(told, variable+":"+value+"]") {
				t.Errorf("%q adopts, and %s is not %q: %s", kinds, variable, value, told)
			}
		}
	}
}

// TestADeploymentLeavesOut what no parameter asks for, and nothing else.
func TestADeploymentLeavesOut(t *testing.T) {
	s, err := stack(t).With(nil)
	if err != nil {
		t.Fatal(err)
	}
	var left []string
	for id := range stack(t).Resources {
		if _, is := s.Resources[id]; !is {
			left = append(left, id)
		}
	}
	slices.Sort(left)
	if got := strings.Join(left, " "); got != "Adopt AdoptAccess AdoptLog AdoptRole AdoptSilentAlarm IsolateNetwork SourceAccess Vpc" {
		t.Errorf("left out: %s", got)
	}
	if is := at[string](t, s.Resources["Gate"], "Environment", "Variables", "NODEFENCE_NEIGHBORS_IMAGE"); is != "" {
		t.Errorf("the image is %q", is)
	}
	if s, err = stack(t).With(map[string]string{"SubnetIds": "subnet-1,subnet-2"}); err != nil || s.Resources["Vpc"].Type == "" {
		t.Errorf("with subnets: %v, %+v", err, s)
	}
	for name, c := range map[string]struct {
		parameters map[string]string
		want       string
	}{
		"no such parameter": {map[string]string{"Adopt": "far"}, "the template has no parameter Adopt"},
		"no such kind":      {map[string]string{"AdoptKinds": "fra"}, `parameter AdoptKinds: "fra" is none of ["" "far" "mhc" "far,mhc"]`},
	} {
		if _, err := stack(t).With(c.parameters); err == nil || err.Error() != c.want {
			t.Errorf("%s: %v", name, err)
		}
	}
	odd, err := Parse([]byte("Conditions: {C: !And [true, true]}\nResources: {R: {Type: T, Condition: C}}\n"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := odd.With(nil); err == nil || err.Error() != "R: condition C is not understood here" {
		t.Errorf("of an operator that is not known here: %v", err)
	}
}
