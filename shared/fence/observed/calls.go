package observed

// NotMade tells whether this invocation was to make a call, and did not.
func (seen *Look) NotMade() bool { return seen.Call != nil && seen.Call.NotMade }

// Machine is the one that answered, and whose it is where that is known.
func (c *CallResult) Machine() string {
	if c.Whose != "" {
		return c.Identity + " (node " + c.Whose + ")"
	}
	return c.Identity
}
