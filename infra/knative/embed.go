// Package knative has the Triggers that configure the cluster's broker, so that the local
// broker and the tests route by the same file.
package knative

import _ "embed"

// Triggers is base/triggers.yaml.
//
//go:embed base/triggers.yaml
var Triggers []byte
