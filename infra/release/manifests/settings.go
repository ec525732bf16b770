package manifests

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// setting is a variable that a program reads.
var setting = regexp.MustCompile("envconfig:\"([A-Z0-9_]+)\"")

// given are set by the manifests, or by Knative, and by nobody else.
var given = []string{"NODEFENCE_FUNCTION", "NODE_NAME", "POD_NAME", "PORT", "LISTEN", "K_SINK", "K_CE_OVERRIDES", "K_CA_CERTS", "KUBECONFIG", "NODEFENCE_KDUMP"}

// ofLambda are read only where functions run on Lambda.
var ofLambda = []string{"NODEFENCE_BUS", "NODEFENCE_METRICS"}

// openTelemetrys are read by OpenTelemetry's SDK, which shared/tracing gives them to.
var openTelemetrys = []string{"OTEL_SERVICE_NAME", "OTEL_RESOURCE_ATTRIBUTES"}

// Settings are the variables by which a user configures the programs of a repository in a cluster.
func Settings(root string) (all []string, err error) {
	for _, folder := range []string{"functions", "sources", "shared"} {
		err := filepath.WalkDir(filepath.Join(root, folder), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			text, err := os.ReadFile(path)
			for _, m := range setting.FindAllStringSubmatch(string(text), -1) {
				if !slices.Contains(given, m[1]) && !slices.Contains(ofLambda, m[1]) {
					all = append(all, m[1])
				}
			}
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("look for settings: %w", err)
		}
	}
	all = append(all, openTelemetrys...)
	slices.Sort(all)
	return slices.Compact(all), nil
}
