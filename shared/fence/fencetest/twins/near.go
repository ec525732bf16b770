package twins

import "github.com/nodefence/nodefence/shared/fence/fencetest/walk"

// near is where the hunt for some begins: a walk comes there in time, a hunt by luck only.
var near = map[string]func() []walk.State{
	"believes the device again after a cut that was none":              walk.RefutedBeforeAProof,
	"cuts again by a device whose cut was none":                        walk.RefutedBeforeAProof,
	"cuts a node that lives again as one that failed":                  walk.ToCutAfterDrains,
	"cuts a node that lives for a word that was refused":               walk.ToCutAfterDrains,
	"cuts all the same what its policy gives up now":                   walk.DrainsOver,
	"cuts an empty node that somebody has unmarked":                    walk.ToCutAfterDrains,
	"cuts on a yes of before the drain's end":                          walk.DrainsOver,
	"cuts what was given up and lives again":                           walk.ToCutAfterDrains,
	"does not wait for a first message":                                walk.ReadOnBeforeADump,
	"drains anew for the time that it had":                             walk.DrainsOver,
	"drains anew for who asked before":                                 walk.DrainsOver,
	"drains anew once the time was over":                               walk.DrainsOver,
	"forgets that the Lease was fresh":                                 walk.CutJustNow,
	"holds only what has not begun against the policies":               walk.ReadOnAgain,
	"keeps its cordon where somebody has taken the taint off":          walk.GivenUpStillMarked,
	"keeps its marks on a node whose drain was given up":               walk.GivenUpStillMarked,
	"lets a restore stop what was begun":                               walk.ReleasesHeld,
	"marks an empty node for its cut that somebody has unmarked":       walk.EmptiedToMark,
	"overlooks a wish for no drain that is withdrawn":                  walk.ToCutAfterDrains,
	"releases on a person's word from before a restore":                walk.WordsHeld,
	"sends a further Off though the state went back":                   walk.ReadOnHeld,
	"sends a further Off for a request that is withdrawn":              walk.ReadOnAsked,
	"serves a request again and again":                                 walk.ReadOnServed,
	"switches on what was off again after another program's reboot":    walk.OffAgainAfterAReboot,
	"switches off what is healthy again, for its last Off did nothing": walk.ReadOnAgain,
	"switches on one level alone":                                      walk.BothLevelsCut,
	"switches on while an Off may still take effect":                   walk.LostJustNow,
	"takes a Lease that moved before the machine was off for a life":   walk.OnAgain,
	"takes another's off for a late one of its own":                    walk.CutOnce,
	"takes a drain that was skipped for one that is over":              walk.ToCutAfterDrains,
	"takes any device for one that never reads off too soon":           walk.CutJustNow,
	"tries on when its tries are used up":                              walk.AwaitedNow,
	"writes who has asked where it is not the gate":                    walk.ToCutAfterDrains,
}

func init() {
	for name := range brokenDumpProof {
		near[name] = walk.DumpsNow
	}
}
