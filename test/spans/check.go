package spans

import (
	"fmt"
	"slices"
)

// Faults are what is wrong with the trace of one fence that has ended: it has one root, which is the
// fence's; each span's parent is the root, or the span that sent the event which it took.
func Faults(all []Span) (faults []string) {
	byID, roots := map[string]Span{}, 0
	for _, s := range all {
		if _, twice := byID[s.ID]; twice {
			faults = append(faults, "span "+s.ID+" is there twice")
		}
		byID[s.ID] = s
		if s.Trace != all[0].Trace {
			faults = append(faults, "span "+s.Name+" is of another trace")
		}
	}
	for _, s := range all {
		parent, known := byID[s.Parent]
		switch {
		case s.Parent == "":
			roots++
			if s.Name != "fence" {
				faults = append(faults, "span "+s.Name+" has no parent")
			}
		case !known:
			faults = append(faults, fmt.Sprintf("the parent of span %s, %s, is not there", s.Name, s.Parent))
		case parent.Name != "fence" && !sent(parent, s.Attrs["cloudevents.event_id"]):
			faults = append(faults, fmt.Sprintf("span %s took event %s, which its parent %s did not send", s.Name, s.Attrs["cloudevents.event_id"], parent.Name))
		case s.Ended.Before(s.Begun):
			faults = append(faults, "span "+s.Name+" ended before it began")
		}
	}
	if roots != 1 {
		faults = append(faults, fmt.Sprintf("%d spans have no parent", roots))
	}
	return faults
}

// sent tells whether a span sent an event, by itself or as its reply.
func sent(s Span, event string) bool {
	return event != "" && (s.Attrs["nodefence.reply.event_id"] == event || s.Kind == "producer" && s.Attrs["cloudevents.event_id"] == event)
}

// Tree is the trace as text, a line for each span, indented under its parent, in order of time.
func Tree(all []Span) string {
	text := ""
	var under func(parent, indent string)
	under = func(parent, indent string) {
		for _, s := range sorted(all) {
			if s.Parent == parent {
				text += indent + s.Name + "\n"
				under(s.ID, indent+"  ")
			}
		}
	}
	under("", "")
	return text
}

func sorted(all []Span) []Span {
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(a, b Span) int { return a.Begun.Compare(b.Begun) })
	return all
}
