package run

import (
	"errors"
	"fmt"

	"github.com/kelseyhightower/envconfig"
)

// Environment reads the settings of a program from its environment, by their envconfig tags. Its
// error names the variable, what it holds, and what is wrong with that.
func Environment(settings any) error {
	err := envconfig.Process("", settings)
	if p := (*envconfig.ParseError)(nil); errors.As(err, &p) {
		return fmt.Errorf("read %s: %q: %w", p.KeyName, p.Value, p.Err)
	}
	if err != nil {
		return fmt.Errorf("read the environment: %w", err)
	}
	return nil
}
