package plane

// The programs by the names that Knative gives them. Controller, Brokers and
// Channels arrange things; an event passes through the other three.
const (
	Controller = "controller"
	Brokers    = "mtchannel_broker"
	Channels   = "channel_controller"
	Ingress    = "ingress"
	Filter     = "filter"
	Dispatcher = "channel_dispatcher"
)

// program is one of Knative's own, started as its own manifest says.
type program struct {
	name, source string
	// manifest has the Deployment with its environment and account, below config.
	manifest string
	// ready is what a kubelet would ask on port 8080.
	ready string
	args  []string
	// service leads to it; empty if nothing is sent to it.
	service string
}

// One replica each, so there is nobody to elect: electing takes a quarter of a
// minute after every kill.
var noElection = []string{"--disable-ha"}

const commands = "knative.dev/eventing/cmd/"

var programs = []program{
	{name: Controller, source: commands + "controller", manifest: "core/deployments/controller.yaml", ready: "/readiness", args: noElection},
	{name: Brokers, source: commands + "mtchannel_broker", manifest: "brokers/mt-channel-broker/deployments/controller.yaml", ready: "/readiness", args: noElection},
	{name: Channels, source: commands + "in_memory/channel_controller", manifest: "channels/in-memory-channel/deployments/controller.yaml", ready: "/readiness", args: noElection},
	{name: Ingress, source: commands + "broker/ingress", manifest: "brokers/mt-channel-broker/deployments/broker-ingress.yaml", ready: "/healthz", service: "broker-ingress"},
	{name: Filter, source: commands + "broker/filter", manifest: "brokers/mt-channel-broker/deployments/broker-filter.yaml", ready: "/healthz", service: "broker-filter"},
	{name: Dispatcher, source: commands + "in_memory/channel_dispatcher", manifest: "channels/in-memory-channel/deployments/dispatcher.yaml", ready: "/healthz", args: noElection, service: "imc-dispatcher"},
}
