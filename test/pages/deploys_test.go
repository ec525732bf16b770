package pages

import (
	"fmt"
	"strings"
	"testing"

	"github.com/nodefence/nodefence/infra/aws"
)

// deploys checks that the template takes the parameters that sam is given. A value that another
// program says is not known here, and neither is what stands for "…".
func deploys(args []string) error {
	template, err := aws.Parse(aws.Template)
	if err != nil {
		return err
	}
	given, after := map[string]string{}, false
	for _, a := range args {
		name, value, is := strings.Cut(a, "=")
		switch {
		case strings.HasPrefix(a, "-"):
			after = a == "--parameter-overrides"
		case !after || a == "…":
		case !is:
			return fmt.Errorf("%s gives no parameter a value: write Name=value", a)
		case template.Parameters[name] == nil:
			return fmt.Errorf("the template has no parameter %s", name)
		case value != "":
			given[name] = value
		}
	}
	_, err = template.With(given)
	return err
}

// TestDeploys: what sam is given is held to the template and its Rules.
func TestDeploys(t *testing.T) {
	for args, want := range map[string]string{
		"deploy --parameter-overrides … ClusterCA= AdoptKinds=mhc --resolve-s3 x":     "",
		"deploy --parameter-overrides ClusterName=prod AdoptKind=":                    "the template has no parameter AdoptKind",
		"deploy --parameter-overrides ClusterName prod":                               "ClusterName gives no parameter a value: write Name=value",
		"deploy --parameter-overrides ClusterEndpoint=http://a":                       `parameter ClusterEndpoint: "http://a" is not like https://.+`,
		"deploy --parameter-overrides … AdoptKinds=far AdoptNamespaces=a":             "rule AdoptsFARWhereRequestsCount",
		"delete --stack-name nodefence":                                               "",
		"deploy --parameter-overrides AdoptKinds=far,mhc RequestNamespaces=a --foo b": "rule AdoptsFARSomewhere",
	} {
		err := deploys(strings.Fields(args))
		if (err == nil) != (want == "") || err != nil && !strings.HasPrefix(err.Error(), want) {
			t.Errorf("sam %s: %v, want %q", args, err, want)
		}
	}
}
