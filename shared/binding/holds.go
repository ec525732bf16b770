package binding

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/facts"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// present is what a resolution would be made of now.
type present struct {
	node *corev1.Node
	// enrolment is the node's; nil if it has none. Without a UID only the version counts.
	enrolment *api.TargetSource
	// configs is the ledger's version of the ConfigMaps; nil if nobody sees them.
	configs *api.ConfigsSeen
	// resolver is the name of this program and its settings; empty if that is not known.
	resolver string
	at       time.Time
}

// holds reports whether a binding that was kept is still what resolving would give (S11:
// the device is the node's own). Only what depends on nothing but the following is kept
// (see keep), and each is noticed if it changes:
//   - the program, its drivers and its settings, by their name;
//   - the Node, by its UID, which another Node of the same name does not have, and by a
//     digest of the label that chooses its configuration, and of its machine-id. A node that is missing has no UID,
//     and is always resolved anew;
//   - the node's own enrolment, by its UID and version, read from the API server by a fence,
//     and by a check from the turn in the ledger;
//   - every other ConfigMap, whether it is read for this node or gives another node the same
//     device, and every enrolment that may be of the same machine as another one, by the
//     version that the source writes into the ledger. That is no evidence if it is missing,
//     or was observed longer ago than the source takes to write it again, or lies ahead
//     (S30). What has changed in the moment since it was observed counts at the next look.
//
// Whatever is not certain is resolved anew.
func holds(k *api.TargetBinding, now present) bool {
	switch {
	case k.Resolver == "" || k.Resolver != now.resolver:
		return false
	case now.node.UID == "" || k.NodeUID != now.node.UID || k.NodeDigest != digestOf(now.node):
		return false
	case !sameEnrolment(k.Enrolment, now.enrolment):
		return false
	case now.configs == nil || k.ConfigsVersion == "" || k.ConfigsVersion != now.configs.Version:
		return false
	}
	return observed.Fresh(now.configs.ObservedAt.Time, now.at, facts.Resync)
}

func sameEnrolment(kept, now *api.TargetSource) bool {
	if kept == nil || now == nil {
		return kept == nil && now == nil
	}
	return kept.ResourceVersion == now.ResourceVersion && (now.UID == "" || kept.UID == now.UID)
}

// digestOf is a digest of what resolving reads of a Node besides its name and UID.
func digestOf(n *corev1.Node) string {
	kind, labelled := n.Labels[typeLabel]
	return short(strconv.FormatBool(labelled), kind, n.Status.NodeInfo.MachineID)
}

// short is a digest of some words.
func short(words ...string) string {
	h := sha256.New()
	for _, w := range words {
		_, _ = h.Write([]byte(strconv.Quote(w))) // a hash takes everything
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}
