package bundle

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// TestWhatLooksLikeACredential is taken out, and nothing around it.
func TestWhatLooksLikeACredential(t *testing.T) {
	for text, want := range map[string]string{
		"password: hunter-2\nb: c":                                       "password: (redacted)\nb: c",
		`{"password":"hunter-2","b":"c"}`:                                `{"password":"(redacted)","b":"c"}`,
		`msg="{\"token\":\"hunter-2\"}" b`:                               `msg="{\"token\":\"(redacted)\"}" b`,
		"community=hunter-2 b":                                           "community=(redacted) b",
		"AWS_SECRET_ACCESS_KEY=hunter-2":                                 "AWS_SECRET_ACCESS_KEY=(redacted)",
		"https://root:hunter-2@192.0.2.7/redfish":                        "https://(redacted)@192.0.2.7/redfish",
		"Authorization: Bearer hunter-2hunter":                           "Authorization: (redacted)",
		"a eyJhbGciOiJI.eyJzdWIiOiJ.hunter b":                            "a (redacted) b",
		"-----BEGIN PRIVATE KEY-----\nhunter\n-----END PRIVATE KEY-----": "-----BEGIN PRIVATE KEY-----(redacted)-----END PRIVATE KEY-----",
		"Secret bmc-n0 lacks it; secret=bmc-n0":                          "Secret bmc-n0 lacks it; secret=bmc-n0",
		"device ipmi 192.0.2.7:623 read on":                              "device ipmi 192.0.2.7:623 read on",
	} {
		if got := string(Redact([]byte(text))); got != want {
			t.Errorf("%q\nbecomes %q\nwant    %q", text, got, want)
		}
	}
}

// TestNothingOfACredentialStays, in whichever of the usual forms it is written.
func TestNothingOfACredentialStays(t *testing.T) {
	for _, text := range []string{
		"ipmitool --password hunter2 b", "ipmitool -p hunter2", "ipmitool -P hunter2 b", "curl -u root:hunter2 b", "curl --user 'root:hunter2'",
		`args: ["--password","hunter2"]`, "- --password\n- hunter2", "--api-token=hunter2", `--password "a hunter2"`,
		`{"name":"password","value":"hunter2"}`, "- name: BMC_PASSWORD\n  value: hunter2", "- name: BMC_PASSWORD\n  value: 'a hunter2'",
		"https://hunter2@host", `https://root:hun"hunter2@host`, "https://root:p@hunter2/hunter2@host", "https://host/?sig=hunter2&b=c", "SESSION=hunter2", "password_2=hunter2",
		`password: "a hunter2"`, `password: 'a hunter2'`, "password: a hunter2", "password: hunt,hunter2;hunter2}hunter2", "password: hun'hunter2", `password: "a\"hunter2"`,
		`msg="{\"token\":\"a hunter2\"}"`, "password=hunt,hunter2;hunter2", "password='a hunter2'", `password="a hunter2`,
		"password: |\n  hunter2\n\n  hunter2\nb: c", "- password: >-\n    hunter2\n", `secret: "hunter2!"`, "secret=H_hunter2", "secret=Hhunter2", "SECRET=hunter2Pass", `{"secret":"aHhunter2"}`,
	} {
		if got := string(Redact([]byte(text))); strings.Contains(got, "hunter2") {
			t.Errorf("%q becomes %q", text, got)
		}
	}
	if got := string(Redact([]byte("a AKIAIOSFODNN7EXAMPLE b\npassword: |\n  x\nb: c"))); got != "a (redacted) b\npassword: |\n  (redacted)\nb: c" {
		t.Errorf("%q", got)
	}
}

// TestOfConfigMaps only known values are kept, whatever the name of the others.
func TestOfConfigMaps(t *testing.T) {
	cm := corev1.ConfigMap{Data: map[string]string{"fence-method-bmc": "agent_name=fence_ipmilan\nip=192.0.2.7\nusername=hunter\nhunted=hunter\nhunter\n\nsecret=bmc-a\n"}, BinaryData: map[string][]byte{"b": []byte("hunter")}}
	cm.Annotations = map[string]string{"a": "hunter"}
	got := shown(cm)
	want := "agent_name=fence_ipmilan\nip=192.0.2.7\nusername=(redacted)\nhunted=(redacted)\n(redacted)\n\nsecret=bmc-a\n"
	if text := got["data"].(map[string]string)["fence-method-bmc"]; text != want {
		t.Errorf("%q, want %q", text, want)
	}
	if got["binaryData"] != nil || got["metadata"].(map[string]any)["annotations"] != nil {
		t.Error(got)
	}
}

// TestEveryKindIsInIt: a kind that is added later is not forgotten.
func TestEveryKindIsInIt(t *testing.T) {
	s := runtime.NewScheme()
	if err := api.AddToScheme(s); err != nil {
		t.Fatal(err)
	}
	var want []string
	for kind, typ := range s.KnownTypes(api.GroupVersion) {
		if _, list := reflect.New(typ).Interface().(interface{ GetContinue() string }); strings.HasSuffix(kind, "List") && list && typ.PkgPath() == reflect.TypeFor[api.NodeFence]().PkgPath() {
			want = append(want, plural(strings.TrimSuffix(kind, "List")))
		}
	}
	got := slices.Clone(Kinds)
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("%v\nwant %v", got, want)
	}
}

// plural is how the API server names a kind.
func plural(kind string) string {
	name := strings.ToLower(kind)
	if strings.HasSuffix(name, "y") {
		return strings.TrimSuffix(name, "y") + "ies"
	}
	return name + "s"
}

// TestOfBoundDevices only known values are kept, as of the ConfigMaps that bind them.
func TestOfBoundDevices(t *testing.T) {
	const device = `{"driver":"ipmi","params":{"ip":"192.0.2.7","username":"hunter","secret":"bmc-a"}}`
	text, err := trimmed([]byte(`{"items":[{"spec":{"params":"x"},"status":{"decision":{"devices":[` + device + `]},"binding":{"devices":[` + device + `]}}}]}`))
	if err != nil {
		t.Fatal(err)
	}
	kept, out := strings.Count(string(text), "ip: 192.0.2.7\n")+strings.Count(string(text), "secret: bmc-a\n"), strings.Count(string(text), "username: (redacted)\n")
	if kept != 4 || out != 2 || strings.Contains(string(text), "hunter") || !strings.Contains(string(text), "params: x\n") {
		t.Errorf("%s", text)
	}
}

// TestListsAreTrimmed of what says nothing, or says all again.
func TestListsAreTrimmed(t *testing.T) {
	text, err := trimmed([]byte(`{"items":[{"metadata":{"name":"a","managedFields":[{"x":1}],"annotations":{"kubectl.kubernetes.io/last-applied-configuration":"{}","b":"c","nodefence.io/check-now":"d"}},"spec":{}}]}`))
	if want := "- metadata:\n    annotations:\n      nodefence.io/check-now: d\n    name: a\n  spec: {}\n"; err != nil || string(text) != want {
		t.Errorf("%v: %q, want %q", err, text, want)
	}
}
