// Package knative carries the Triggers that the cluster's broker is configured
// with, so that the local broker and the tests route by the very same file.
package knative

import _ "embed"

// Triggers is base/triggers.yaml.
//
//go:embed base/triggers.yaml
var Triggers []byte
