package config

import "errors"

// Resolve reads the plan of a node.
func (c *Configs) Resolve(n Node) (Plan, error) {
	if c.twice != nil {
		return Plan{}, c.twice
	}
	r := c.resolver(n)
	from, err := r.choose()
	if errors.Is(err, ErrNoBinding) {
		from, err = r.byCloud(err)
	}
	if err != nil {
		return Plan{}, err
	}
	p, err := r.plan(from)
	if err != nil {
		return Plan{}, err
	}
	if words := tooLong(p.Devices()); words != "" {
		return Plan{}, from.at().errorf("%s", words)
	}
	return p, nil
}
