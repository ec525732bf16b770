package judge

import "time"

// oneWriter is the purpose of all promises.
const oneWriter = "S1: a lost machine writes no more before its work starts elsewhere"

// judgeWriters: a writer starts on a volume only once no machine but its own writes there. The journal is in the order of
// events.
func (t *timeline) judgeWriters() {
	open := map[string][]*Span{}
	for i := range t.Spans {
		s := &t.Spans[i]
		if s.Event != "start" {
			open[s.Volume] = withoutWriter(open[s.Volume], s)
			continue
		}
		t.countOne("writers")
		for _, o := range open[s.Volume] {
			switch {
			case o.Machine == s.Machine || t.declares(FalseWord, o.Node):
			case t.epochAt(o.From) != t.epochAt(s.From):
				t.leaveOut("two writers of volume %s: a restore of the API server has taken the second pod back to its node", s.Volume)
			default:
				t.addBreach(oneWriter, o.Node, 0, "volume "+s.Volume+" has two writers",
					Cited{o.Line, o.From, o.Pod + " on " + o.Node + " writes"}, Cited{s.Line, s.From, s.Pod + " on " + s.Node + " writes too"})
			}
		}
		open[s.Volume] = append(open[s.Volume], s)
	}
}

// epochAt counts the restores until the time, as the writes tell.
func (t *timeline) epochAt(at time.Time) (epoch int) {
	for i := range t.Writes {
		if w := &t.Writes[i]; !w.Received.After(at) {
			epoch = max(epoch, w.Epoch)
		}
	}
	return epoch
}

// withoutWriter removes the writer that has ended.
func withoutWriter(all []*Span, ended *Span) (rest []*Span) {
	for _, s := range all {
		if s.Machine != ended.Machine || s.Pod != ended.Pod || !s.From.Equal(ended.From) {
			rest = append(rest, s)
		}
	}
	return rest
}
