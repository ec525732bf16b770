package device

import "errors"

// Given returns an error if one of these parameters is missing. It is for Open: when only
// the address is asked for, parameters from a Secret are not there yet.
func Given(params map[string]string, names ...string) error {
	for _, name := range names {
		if params[name] == "" {
			return errors.New(name + " is missing")
		}
	}
	return nil
}
