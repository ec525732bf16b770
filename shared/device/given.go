package device

import "errors"

// Given is an error if one of these parameters is missing. It is for Open: what may
// come from a Secret is not there yet where an address is asked for.
func Given(params map[string]string, names ...string) error {
	for _, name := range names {
		if params[name] == "" {
			return errors.New(name + " is missing")
		}
	}
	return nil
}
