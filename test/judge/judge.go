package judge

// Judge says whether a history keeps the promises.
func Judge(h *History) *Verdict {
	t := newTimeline(h)
	for _, rule := range []func(){
		t.judgeOffs, t.judgeLimits, t.judgeChecks, t.judgeRates, t.judgeProofs, t.judgeReleases, t.judgeEvidence, t.judgeMarks, t.judgeWriters,
	} {
		rule()
	}
	return t.Verdict
}
