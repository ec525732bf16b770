package pages

import "strings"

// exceptions are the blocks that no test takes, by their page and how they begin, and why.
var exceptions = []struct{ page, begins, why string }{
	{"infra/crd/POLICY.md", "{\n  \"plugin\": \"custom\"", "configures node-problem-detector; TestTheCustomPluginOfThePageHasItsNodeFenced runs it (test/e2e)"},
	{"CONTRIBUTING.md", "functions/   main.go", "names folders in words"},
	{"CONTRIBUTING.md", "flowchart", "is a picture"},
	{"README.md", "19:20:58.046", "is what make demo showed once; the times and the wait differ each time"},
	{"infra/aws/README.md", "nodefence-source ──>", "is a picture"},
	{"infra/aws/README.md", "fields @timestamp", "is a query of CloudWatch Logs Insights, which does not run here"},
	{"infra/observability/README.md", "fence      ", "is a picture; test/e2e holds the spans and their parents (spans)"},
	{"docs/tasks/who-acted.md", "NAME   ", "is what one cluster showed; TestActsOfPeopleAreRecorded holds such acts (test/e2e)"},
	{"sources/kubectl-fence/README.md", "note: nodefence has not looked", "is what one cluster showed, shortened; TestAbsence holds such lines (sources/kubectl-fence/view)"},
	{"functions/power/CHECKS.md", "NAME       DEVICE", "is what one cluster showed; TestColumns holds its head"},
	{"shared/config/README.md", "ConfigMap fence-config-node-worker-7, key config.properties, line 3: unknown", "are errors, shortened; tests of shared/config and shared/binding hold such errors of other names"},
	{"shared/device/job/README.md", "FROM debian", "builds an image from packages of others"},
	{"shared/fence/states.md", "stateDiagram", "is generated, and compared (shared/fence)"},
}

// exception is why no test takes the block; empty if one must.
func exception(b Block) string {
	for _, x := range exceptions {
		if x.page == b.Page && strings.HasPrefix(b.Text, x.begins) {
			return x.why
		}
	}
	return ""
}
