package specs

import "github.com/nodefence/nodefence/shared/fence/fencetest"

// Liar is the address of a device that may say off of a machine that is on.
const Liar = "liar"

// Lies is of a node whose device may lie.
func Lies() fencetest.Given {
	s := fencetest.Spec()
	s.Decision.Devices[0].Address = Liar
	return s
}
