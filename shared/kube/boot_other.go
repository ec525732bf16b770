//go:build !linux

package kube

import "time"

var started = time.Now()

// sinceBoot has no boot clock here; the wall clock counts suspension at least.
func sinceBoot() time.Duration { return time.Now().Round(0).Sub(started.Round(0)) }
