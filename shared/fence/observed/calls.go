package observed

// Machine is the one that answered, and whose it is where that is known.
func (c *CallResult) Machine() string {
	if c.Whose != "" {
		return c.Identity + " (node " + c.Whose + ")"
	}
	return c.Identity
}
