package config

import "strings"

// action says what is switched. Without an action it is a reboot, as for agents, and a
// reboot is an off that is seen and then an on, never a reset (S4).
func action(m *method) (off, on bool, err error) {
	e, ok := m.values["action"]
	if !ok {
		return true, true, nil
	}
	switch strings.ToLower(e.value) {
	case "off":
		return true, false, nil
	case "on":
		return false, true, nil
	case "reboot", "cycle":
		return true, true, nil
	case "status":
		return false, false, nil
	}
	return false, false, e.at.errorf("unknown action %q; known are on, off, reboot, cycle, status", e.value)
}

func must(m *method) (bool, error) {
	e, ok := m.values["must_success"]
	switch {
	case !ok, e.value == "no":
		return false, nil
	case e.value == "yes":
		return true, nil
	}
	return false, e.at.errorf("%s takes yes or no", shown(e.written))
}
