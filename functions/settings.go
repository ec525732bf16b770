package functions

import (
	"time"

	"github.com/nodefence/nodefence/functions/gate"
)

// Settings are read once from the environment.
type Settings struct {
	// Function is which function this process serves; empty serves all by event type.
	Function string `envconfig:"NODEFENCE_FUNCTION"`
	// Namespace holds the fence-config ConfigMaps.
	Namespace string `envconfig:"NODEFENCE_NAMESPACE" default:"nodefence-system"`
	// SecretsNamespace holds the devices' Secrets.
	SecretsNamespace string `envconfig:"NODEFENCE_SECRETS_NAMESPACE" default:"nodefence-devices"`
	// ChecksNamespace holds the Jobs of activity checks, and what they are made of.
	ChecksNamespace string `envconfig:"NODEFENCE_CHECKS_NAMESPACE" default:"nodefence-checks"`
	// NodeNetworks are those that nodes are in, as CIDRs: checks connect to no other.
	NodeNetworks gate.Networks `envconfig:"NODEFENCE_NODE_NETWORKS"`
	// KubeletPort is where checks find the kubelets; what each Node reports if zero.
	KubeletPort int32 `envconfig:"NODEFENCE_KUBELET_PORT"`
	// NeighborsImage is what checks of type Neighbors run.
	NeighborsImage string `envconfig:"NODEFENCE_NEIGHBORS_IMAGE"`
	// JobsNamespace holds the Jobs of fence agents, and for moments what they are
	// told.
	JobsNamespace string `envconfig:"NODEFENCE_JOBS_NAMESPACE" default:"nodefence-jobs"`
	// JobImages are what such Jobs may be made of.
	JobImages []string `envconfig:"NODEFENCE_JOB_IMAGES"`
	// AgentsDir has the ClusterLabs agents, for devices without a driver of ours.
	AgentsDir string `envconfig:"NODEFENCE_AGENTS_DIR" default:"/usr/sbin"`
	// DeniedRest is how long the checks leave a device alone that has refused the account.
	DeniedRest time.Duration `envconfig:"NODEFENCE_CHECK_DENIED_INTERVAL" default:"1h"`
	// DeviceCall is the longest that one call to a device may take, from 1s to 20s; the
	// gate records it in each fence that it opens.
	DeviceCall gate.CallTimeout `envconfig:"NODEFENCE_DEVICE_CALL_TIMEOUT" default:"20s"`
	// Cluster is this cluster's name in events; the UID of kube-system if empty.
	Cluster string `envconfig:"NODEFENCE_CLUSTER"`
	// Self is the node that this process runs on, from the downward API, or NoNode (S13).
	Self string `envconfig:"NODE_NAME"`
	// Direct is what resync calls a function by, past the broker, with
	// {function} for its name: a URL, or on AWS the name of a Lambda function.
	Direct string `envconfig:"NODEFENCE_DIRECT"`
	// GCEMetadata is a host, with its port, that stands in for Compute Engine's metadata
	// server, by the name that Google's own tools have for it.
	GCEMetadata string `envconfig:"GCE_METADATA_HOST"`
	// Kubeconfig is a file; the pod's own account if empty.
	Kubeconfig string `envconfig:"KUBECONFIG"`
	// Port to listen on.
	Port int `envconfig:"PORT" default:"8080"`
}
