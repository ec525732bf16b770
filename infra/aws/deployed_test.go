package aws

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// reads are the functions that read FenceAgentsRemediations (functions/adopt/FAR.md). policystatus
// alone reads MachineHealthChecks.
var reads = []string{"Adopt", "Gate", "Isolate", "Power"}

// TestWhatIsAdoptedIsDeployed: the function adopt is there, with all that belongs to it, only where
// FenceAgentsRemediations are adopted. Each function is told of the kind that it reads, and of where its
// objects are, and of no other.
func TestWhatIsAdoptedIsDeployed(t *testing.T) {
	belongs := []string{"Adopt", "AdoptRole", "AdoptAccess", "AdoptLog", "AdoptSilentAlarm"}
	for kinds, want := range map[string]bool{"": false, "mhc": false, "far": true, "far,mhc": true} {
		far, mhc := strings.Contains(kinds, "far"), strings.Contains(kinds, "mhc")
		given := map[string]string{"AdoptKinds": kinds, "RequestNamespaces": "b,a"}
		toldFAR, toldMHC := []any{"", ""}, []any{"", ""}
		if far {
			given["AdoptNamespaces"], toldFAR = "a,b", []any{"far", "a,b"}
		}
		if mhc {
			given["HealthCheckNamespaces"], toldMHC = "c", []any{"mhc", "c"}
		}
		s, err := stack(t).With(given)
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range belongs {
			if _, is := s.Resources[id]; is != want {
				t.Errorf("%q adopts, and %s is there: %v", kinds, id, is)
			}
		}
		all := s.Globals.Function["Environment"].(map[string]any)["Variables"].(map[string]any)
		if is := all["NODEFENCE_REQUEST_NAMESPACES"]; is != "b,a" || all["NODEFENCE_ADOPT"] != nil || all["NODEFENCE_ADOPT_NAMESPACES"] != nil {
			t.Errorf("every function is told %v", all)
		}
		for id, r := range s.Resources {
			if r.Type != "AWS::Serverless::Function" {
				continue
			}
			told := at[map[string]any](t, r, "Environment", "Variables")
			want := []any{nil, nil}
			switch {
			case slices.Contains(reads, id):
				want = toldFAR
			case id == "PolicyStatus":
				want = toldMHC
			}
			if is := []any{told["NODEFENCE_ADOPT"], told["NODEFENCE_ADOPT_NAMESPACES"]}; !slices.Equal(is, want) {
				t.Errorf("%q adopts, and %s is told %q, want %q", kinds, id, is, want)
			}
		}
	}
}

var devicesReadIn = regexp.MustCompile(`\n  name: nodefence-far-devices\n  namespace: (\S+)\nrules:`)

// TestAdoptedWhereThereAreRights: no stack adopts FenceAgentsRemediations in all namespaces whose
// FenceRequests count, as cluster/far gives no rights in nodefence's own: there no device of any node
// would be known. Where it does give them they are adopted, and README.md names that namespace.
func TestAdoptedWhereThereAreRights(t *testing.T) {
	rights, err := os.ReadFile("cluster/far/rights.yaml")
	if err != nil {
		t.Fatal(err)
	}
	found := devicesReadIn.FindAllStringSubmatch(string(rights), -1)
	if len(found) != 1 {
		t.Fatalf("devices are read in %q", found)
	}
	where := found[0][1]
	for _, kinds := range []string{"far", "far,mhc"} {
		_, err := stack(t).With(map[string]string{"AdoptKinds": kinds, "RequestNamespaces": "nodefence-system," + where})
		if err == nil || !strings.Contains(err.Error(), "gives its rights, "+where) {
			t.Errorf("%s in all namespaces: %v", kinds, err)
		}
	}
	page, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	given := map[string]string{"AdoptKinds": "far", "AdoptNamespaces": where, "RequestNamespaces": "nodefence-system," + where}
	for name, value := range given {
		if !regexp.MustCompile(` ` + name + "=" + value + `[ \n]`).Match(page) {
			t.Errorf("README.md does not say %s=%s", name, value)
		}
	}
	if _, err := stack(t).With(given); err != nil {
		t.Error(err)
	}
}

const noRequests = "rule AdoptsFARWhereRequestsCount: AdoptNamespaces has a namespace that RequestNamespaces lacks: a FenceRequest is made of " +
	"each FenceAgentsRemediation, in its namespace. Name it in both, and for the source too"

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
	if got := strings.Join(left, " "); got != "Adopt AdoptAccess AdoptLog AdoptRole AdoptSilentAlarm IsolateNetwork PowerVolumeKeys SourceAccess Vpc" {
		t.Errorf("left out: %s", got)
	}
	if is := at[string](t, s.Resources["Gate"], "Environment", "Variables", "NODEFENCE_NEIGHBORS_IMAGE"); is != "" {
		t.Errorf("the image is %q", is)
	}
	if s, err = stack(t).With(map[string]string{"SubnetIds": "subnet-1,subnet-2", "SecurityGroupIds": "sg-1"}); err != nil || s.Resources["Vpc"].Type == "" {
		t.Errorf("with subnets: %v, %+v", err, s)
	}
	for name, c := range map[string]struct {
		parameters map[string]string
		want       string
	}{
		"no such parameter": {map[string]string{"Adopt": "far"}, "the template has no parameter Adopt"},
		"no such kind":      {map[string]string{"AdoptKinds": "fra"}, `parameter AdoptKinds: "fra" is none of ["" "far" "mhc" "far,mhc"]`},
		"far nowhere": {map[string]string{"AdoptKinds": "far"}, "rule AdoptsFARSomewhere: AdoptKinds has far and AdoptNamespaces is empty: name the namespaces in which " +
			"cluster/far gives its rights, openshift-workload-availability unless you changed it\n" + noRequests},
		"far where no requests count":           {map[string]string{"AdoptKinds": "far", "AdoptNamespaces": "a,b", "RequestNamespaces": "a"}, noRequests},
		"far, and mhc, where no requests count": {map[string]string{"AdoptKinds": "far,mhc", "AdoptNamespaces": "a,b", "RequestNamespaces": "a", "HealthCheckNamespaces": "b"}, noRequests},
		"mhc where far is": {map[string]string{"AdoptKinds": "mhc", "AdoptNamespaces": "a"}, "rule AdoptsMHCElsewhere: AdoptKinds is mhc and AdoptNamespaces is not empty: " +
			"it is of far alone. Name the namespaces of MachineHealthChecks in HealthCheckNamespaces, and empty AdoptNamespaces"},
		"far where mhc is": {map[string]string{"AdoptKinds": "far", "AdoptNamespaces": "a", "RequestNamespaces": "a", "HealthCheckNamespaces": "a"}, "rule AdoptsFARElsewhere: " +
			"AdoptKinds is far and HealthCheckNamespaces is not empty: it is of mhc alone. Write AdoptKinds=far,mhc, or empty HealthCheckNamespaces"},
		"subnets alone": {map[string]string{"SubnetIds": "subnet-1"}, "rule SubnetsHaveSecurityGroups: SubnetIds has subnets and SecurityGroupIds is empty: " +
			"Lambda takes both or none. Name the security groups that the functions have in these subnets"},
		"security groups alone": {map[string]string{"SecurityGroupIds": "sg-1,sg-2"}, "rule SecurityGroupsHaveSubnets: SecurityGroupIds has security groups and SubnetIds is empty: " +
			"Lambda takes both or none. Name the subnets that the functions are in, or leave both empty"},
		"a time that is not offered": {map[string]string{"DeviceCallTimeout": "25s"}, `parameter DeviceCallTimeout: "25s" is none of ["10s" "20s" "30s" "60s" "90s" "120s"]`},
		"no name of a namespace":     {map[string]string{"AdoptNamespaces": "a,B"}, `parameter AdoptNamespaces: "B" is not like ([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)?`},
		"namespaces by spaces":       {map[string]string{"RequestNamespaces": "a b"}, `parameter RequestNamespaces: "a b" is not like [a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?`},
		"requests nowhere":           {map[string]string{"RequestNamespaces": ""}, `parameter RequestNamespaces: "" is not like [a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?`},
	} {
		if _, err := stack(t).With(c.parameters); err == nil || err.Error() != c.want {
			t.Errorf("%s: %v", name, err)
		}
	}
	for text, want := range map[string]string{
		"Rules: {R: {RuleCondition: !RefAll x}}\n":                "rule R: its condition is not understood here",
		"Rules: {R: {Assertions: [{Assert: !ValueOf [x, y]}]}}\n": "rule R: assertion 1 is not understood here",
	} {
		odd, err := Parse([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := odd.With(nil); err == nil || err.Error() != want {
			t.Errorf("%s: %v", text, err)
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

// TestNothingReferredToIsLeftOut: what is deployed without a condition refers to a resource with one
// only where an If decides. CloudFormation refuses anything else.
func TestNothingReferredToIsLeftOut(t *testing.T) {
	whole := stack(t)
	s, err := whole.With(nil)
	if err != nil {
		t.Fatal(err)
	}
	leftOut := func(name string) bool {
		name, _, _ = strings.Cut(name, ".")
		_, is := s.Resources[name]
		_, was := whole.Resources[name]
		return was && !is
	}
	for id, r := range s.Resources {
		walk(decided(r.Properties), func(key string, value any) {
			text, _ := value.(string)
			names := []string{text}
			switch key {
			case "Ref", "Fn::GetAtt":
			case "Fn::Sub":
				names = nil
				for _, m := range substituted.FindAllStringSubmatch(text, -1) {
					names = append(names, m[1])
				}
			default:
				return
			}
			if i := slices.IndexFunc(names, leftOut); i >= 0 {
				t.Errorf("%s refers to %s, which is not there unless a parameter asks for it", id, names[i])
			}
		})
	}
}

// decided is a value without what an If chooses between.
func decided(v any) any {
	switch v := v.(type) {
	case []any:
		out := make([]any, len(v))
		for i, x := range v {
			out[i] = decided(x)
		}
		return out
	case map[string]any:
		out := map[string]any{}
		for k, x := range v {
			if k != "Fn::If" {
				out[k] = decided(x)
			}
		}
		return out
	}
	return v
}
