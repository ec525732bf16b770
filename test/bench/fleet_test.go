package main

import (
	"fmt"
	"testing"
	"time"
)

// TestFleet: a lab of 5,000 nodes is spared what two cores do not carry, unless a setting says otherwise.
func TestFleet(t *testing.T) {
	if got := fmt.Sprint(leaseAt(0, 1500), leaseAt(0, 5000), leaseAt(time.Second, 5000)); got != "10s 24s 1s" {
		t.Error(got)
	}
	if got := fmt.Sprint(kubelets(time.Second, 20)); got != "[--lease 1s --status-period 5m]" {
		t.Error(got)
	}
	if got := fmt.Sprint(kubelets(24*time.Second, 5000)); got != "[--lease 24s --status-period 5m --outlets=false]" {
		t.Error(got)
	}
}
