package binding

import "github.com/nodefence/nodefence/shared/config"

// resolution is what the ConfigMaps say of a node, and of the cluster, with what that was
// made of.
type resolution struct {
	plan    config.Plan
	cluster config.Cluster
	node    config.Node
	// from are the ConfigMaps as they were listed. configs are what it was resolved by: those of the list or,
	// where objects of another project are adopted, those of maps, which has the ConfigMaps that stand for such
	// objects besides.
	from    *snapshot
	configs *config.Configs
	maps    []config.ConfigMap
	// outside says that something besides these objects and the Node was asked.
	outside bool
	// asked: the result also rests on whether other Nodes exist, which no version shows.
	asked bool
	// adopted is the object of another project that gives the node's device; nil if none does.
	adopted *adopted
	// stands are such objects by the name of the ConfigMap that stands for each.
	stands map[string]*adopted
	// further are claims of nodes that have a ConfigMap of each name already.
	further []*adopted
}
