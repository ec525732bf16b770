package page

// Confirm is the page that says what an act will do, and asks.
type Confirm struct {
	*Look
	// Verb, Name: abort, worker-7. Question is the page's heading.
	Verb, Name, Question string
	// Says is what will be done, a sentence each.
	Says []string
	// Back is the page from which the person came.
	Back string
	// Secret proves that the form is from this page, At tells the request from others, and Shown
	// is what the person was shown.
	Secret, At, Shown string
	// NeedsReason, TakesReason: a reason must be given, or may be. Reason is what was typed before.
	NeedsReason, TakesReason bool
	Reason                   string
	// Types is what must be typed; empty if nothing.
	Types string
	// Hardware: the person can say that the machine is beyond repair. Broken: they said so before.
	Hardware, Broken bool
	// Drains are the ways to drain the node first; empty if nothing is to be chosen.
	Drains []Choice
	// As is the name under which a policy is paused, which can be changed.
	As string
}

// Choice is one of several values of which one is chosen, with what it does.
type Choice struct {
	Value, Says string
	Chosen      bool
}

// Title names the page.
func (c *Confirm) Title() string { return c.Question + " – nodefence" }

// Saying is nothing: the page does not change.
func (c *Confirm) Saying() string { return "" }

// Message is a page that says one thing, mostly an error.
type Message struct {
	*Look
	Heading, Text string
	// Back is where the person can go on, with its name.
	Back, BackName string
}

// Title names the page.
func (m *Message) Title() string { return m.Heading + " – nodefence" }

// Live is always so: what is not known is what it says.
func (m *Message) Live() bool { return true }

// Saying is what it says.
func (m *Message) Saying() string { return m.Text }
