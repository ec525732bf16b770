package functions

import (
	"slices"
	"time"

	"github.com/nodefence/nodefence/functions/gate/checks"
	"github.com/nodefence/nodefence/shared/adopt"
	"github.com/nodefence/nodefence/shared/ask"
	"github.com/nodefence/nodefence/shared/tracing"
)

// Settings are read once from the environment.
type Settings struct {
	// Function names the function that this process serves; if empty, it serves all by
	// event type.
	Function string `envconfig:"NODEFENCE_FUNCTION"`
	// Namespace holds the fence-config ConfigMaps.
	Namespace string `envconfig:"NODEFENCE_NAMESPACE" default:"nodefence-system"`
	// SecretsNamespace holds the devices' Secrets.
	SecretsNamespace string `envconfig:"NODEFENCE_SECRETS_NAMESPACE" default:"nodefence-devices"`
	// ChecksNamespace holds the Jobs of activity checks, and the objects that these Jobs
	// need.
	ChecksNamespace string `envconfig:"NODEFENCE_CHECKS_NAMESPACE" default:"nodefence-checks"`
	// NodeNetworks are the networks of the nodes, as CIDRs: checks connect to no other
	// address.
	NodeNetworks checks.Networks `envconfig:"NODEFENCE_NODE_NETWORKS"`
	// KubeletPort is the port of the kubelets, for checks; if zero, the port that each Node
	// reports.
	KubeletPort int32 `envconfig:"NODEFENCE_KUBELET_PORT"`
	// NeighborsImage is the image for checks of type Neighbors.
	NeighborsImage string `envconfig:"NODEFENCE_NEIGHBORS_IMAGE"`
	// JobsNamespace holds the Jobs of fence agents, and for moments the parameters of each.
	JobsNamespace string `envconfig:"NODEFENCE_JOBS_NAMESPACE" default:"nodefence-jobs"`
	// JobImages are the images that such Jobs may use.
	JobImages []string `envconfig:"NODEFENCE_JOB_IMAGES"`
	// RequestNamespaces are the namespaces whose FenceRequests count, divided by commas. A
	// FenceRequest in another namespace is left alone.
	RequestNamespaces ask.Namespaces `envconfig:"NODEFENCE_REQUEST_NAMESPACES" default:"nodefence-system"`
	// Adopt are the kinds of other projects' objects that are answered as they are, divided by
	// commas: far is FenceAgentsRemediation, mhc is MachineHealthCheck.
	Adopt adopt.Kinds `envconfig:"NODEFENCE_ADOPT"`
	// AdoptNamespaces are the namespaces whose objects are adopted, divided by commas. Of far only
	// those count that RequestNamespaces has too; if none is named, all of these. Of mhc, if none is
	// named, OpenShift's kind counts in openshift-machine-api, and no other.
	AdoptNamespaces ask.Namespaces `envconfig:"NODEFENCE_ADOPT_NAMESPACES"`
	// MachinesKubeconfig is a file that says how to reach the cluster that has this cluster's
	// Machines and MachineHealthChecks, as Cluster API's management cluster; if empty, it is this
	// cluster.
	MachinesKubeconfig string `envconfig:"NODEFENCE_MACHINES_KUBECONFIG"`
	// MachinesCluster is the Cluster object there that is this cluster, as namespace/name. No
	// Machine of another one counts.
	MachinesCluster ClusterObject `envconfig:"NODEFENCE_MACHINES_CLUSTER"`
	// AgentsDir has the ClusterLabs agents, for devices without a driver of ours.
	AgentsDir string `envconfig:"NODEFENCE_AGENTS_DIR" default:"/usr/sbin"`
	// DeniedRest is how long the checks leave a device alone after it has refused the
	// account.
	DeniedRest time.Duration `envconfig:"NODEFENCE_CHECK_DENIED_INTERVAL" default:"1h"`
	// DeviceCall is the longest that one call to a device may take, from 1s to 2m; the
	// gate records it in each fence that it opens. LongestCall puts in the usual time.
	DeviceCall CallTimeout `envconfig:"NODEFENCE_DEVICE_CALL_TIMEOUT" default:"20s"`
	// Invocation is how long the platform gives one invocation of a function, which is at least
	// the longest call to a device and 40s: Timeout of a Lambda function, timeoutSeconds of a
	// Knative Service.
	Invocation time.Duration `envconfig:"NODEFENCE_INVOCATION_TIMEOUT" default:"1m"`
	// RemediationLeases is the namespace of the Leases by which medik8s' operators take turns on a
	// node, medik8s-leases; if empty, nodefence takes turns with nobody.
	RemediationLeases string `envconfig:"NODEFENCE_REMEDIATION_LEASES"`
	// Cluster is this cluster's name in events; the UID of kube-system if empty.
	Cluster string `envconfig:"NODEFENCE_CLUSTER"`
	// Self is the node that this process runs on, from the downward API, or NoNode (S13:
	// never its own machine).
	Self string `envconfig:"NODE_NAME"`
	// Direct is how resync calls a function directly, without the broker. It contains
	// {function} in place of the function's name: a URL, or on AWS the name of a Lambda
	// function.
	Direct string `envconfig:"NODEFENCE_DIRECT"`
	// GCEMetadata is a host, with its port, that replaces Compute Engine's metadata server.
	// Google's own tools use the same variable.
	GCEMetadata string `envconfig:"GCE_METADATA_HOST"`
	// Kubeconfig is a file; if empty, the pod's own account is used.
	Kubeconfig string `envconfig:"KUBECONFIG"`
	// Traces are OpenTelemetry's own variables; without an endpoint there are no traces.
	Traces tracing.Settings
	// Port to listen on.
	Port int `envconfig:"PORT" default:"8080"`
}

// FARNamespaces are the namespaces whose FenceAgentsRemediations count; none if they are not adopted.
// Each is one whose FenceRequests count too, because a FenceRequest is made of each object.
func (s Settings) FARNamespaces() ask.Namespaces {
	if !s.Adopt.Has(adopt.FAR) {
		return nil
	}
	if len(s.AdoptNamespaces) == 0 {
		return s.RequestNamespaces
	}
	return slices.DeleteFunc(slices.Clone(s.AdoptNamespaces), func(n string) bool { return !slices.Contains(s.RequestNamespaces, n) })
}
