package bringup

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/nodefence/nodefence/test/lab/labdir"
	"github.com/nodefence/nodefence/test/lab/pki"
	"github.com/nodefence/nodefence/test/lab/real"
)

// controlPlaneConfig is what "kube all" reads (module test/lab/controlplane
// has the same fields, and refuses others).
type controlPlaneConfig struct {
	Etcd              etcdConfig `json:"etcd"`
	ListenerFD        int        `json:"listenerFD"`
	Kubeconfig        string     `json:"kubeconfig"`
	APIServer         []string   `json:"apiServer"`
	ControllerManager []string   `json:"controllerManager"`
	Scheduler         []string   `json:"scheduler"`
}

type etcdConfig struct {
	DataDir      string `json:"dataDir"`
	ClientSocket string `json:"clientSocket"`
	PeerSocket   string `json:"peerSocket"`
	Fsync        bool   `json:"fsync"`
}

// inheritedFD is the first descriptor of a child after the standard ones.
const inheritedFD = 3

// controlPlaneFile is that configuration.
func controlPlaneFile(dir labdir.Dir) string { return dir.File("controlplane.json") }

// etcdFolder is where etcd keeps its data.
func etcdFolder(dir labdir.Dir) string { return dir.File("etcd") }

// writeControlPlaneConfig writes the configuration of a control plane that listens at an address and a port, which it
// inherits unless the machines are real.
func writeControlPlaneConfig(dir labdir.Dir, options Options, address string, port int) error {
	keys := keyFolder(dir)
	config := controlPlaneConfig{
		Etcd: etcdConfig{
			DataDir:      etcdFolder(dir),
			ClientSocket: dir.File("etcd.sock"),
			PeerSocket:   dir.File("peer.sock"),
			Fsync:        options.Fsync,
		},
		Kubeconfig:        adminKubeconfig(dir),
		APIServer:         append(apiServerFlags(dir, keys, options, address, port), reachFlags(keys, options)...),
		ControllerManager: controllerManagerFlags(dir, keys, options),
		Scheduler:         schedulerFlags(keys),
	}
	if !options.Real {
		config.ListenerFD = inheritedFD
	}
	return errors.Join(writeAuditPolicy(dir), writeJSON(controlPlaneFile(dir), config))
}

// reachFlags say how the API server reaches kubelets and pods, and they the API server.
func reachFlags(keys keys, options Options) []string {
	if !options.Real {
		// Endpoints may not hold a loopback address.
		return []string{"--endpoint-reconciler-type=none"}
	}
	return []string{
		"--kubelet-client-certificate=" + keys.file(pki.KubeletClient+".crt"),
		"--kubelet-client-key=" + keys.file(pki.KubeletClient+".key"),
		"--kubelet-certificate-authority=" + keys.file("ca.crt"),
		"--kubelet-preferred-address-types=InternalIP",
		// No kube-proxy runs beside the API server: it calls webhooks at their pods' addresses.
		"--enable-aggregator-routing=true",
	}
}

func apiServerFlags(dir labdir.Dir, keys keys, options Options, address string, port int) []string {
	eviction := strconv.Itoa(int(options.Eviction.Seconds()))
	return []string{
		"--etcd-servers=unix://" + dir.File("etcd.sock"),
		"--bind-address=" + address,
		"--secure-port=" + strconv.Itoa(port),
		// Without a default route it finds no address to advertise.
		"--advertise-address=" + address,
		"--service-cluster-ip-range=10.96.0.0/16",
		// A kubelet writes its own Node alone, as in every cluster that kubeadm makes.
		"--authorization-mode=Node,RBAC",
		"--enable-admission-plugins=NodeRestriction",
		"--allow-privileged=true",
		"--client-ca-file=" + keys.file("ca.crt"),
		"--tls-cert-file=" + keys.file("apiserver.crt"),
		"--tls-private-key-file=" + keys.file("apiserver.key"),
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=" + keys.file("service-account.pub"),
		"--service-account-signing-key-file=" + keys.file("service-account.key"),
		"--requestheader-client-ca-file=" + keys.file("front-proxy-ca.crt"),
		"--requestheader-allowed-names=front-proxy-client",
		"--requestheader-username-headers=X-Remote-User",
		"--requestheader-group-headers=X-Remote-Group",
		"--requestheader-extra-headers-prefix=X-Remote-Extra-",
		"--proxy-client-cert-file=" + keys.file("front-proxy-client.crt"),
		"--proxy-client-key-file=" + keys.file("front-proxy-client.key"),
		"--default-not-ready-toleration-seconds=" + eviction,
		"--default-unreachable-toleration-seconds=" + eviction,
		"--audit-policy-file=" + auditPolicyFile(dir),
		"--audit-log-path=" + AuditFile(dir),
		"--audit-log-maxsize=" + strconv.Itoa(auditMegabytes),
		"--audit-log-maxbackup=1",
		"--profiling=false",
	}
}

func controllerManagerFlags(dir labdir.Dir, keys keys, options Options) []string {
	return []string{
		"--kubeconfig=" + keys.kubeconfig(controllerManager),
		"--secure-port=0",
		"--leader-elect=false",
		"--use-service-account-credentials=true",
		"--service-account-private-key-file=" + keys.file("service-account.key"),
		"--root-ca-file=" + keys.file("ca.crt"),
		"--cluster-signing-cert-file=" + keys.file("ca.crt"),
		"--cluster-signing-key-file=" + keys.file("ca.key"),
		// The default is under /usr, which it would try to make.
		"--flex-volume-plugin-dir=" + dir.File("flexvolume"),
		"--node-monitor-grace-period=" + options.Grace.String(),
		"--node-monitor-period=" + options.monitorPeriod().String(),
		// The defaults, 20 and 30, are too slow for hundreds of nodes.
		"--kube-api-qps=200",
		"--kube-api-burst=400",
		"--profiling=false",
	}
}

func schedulerFlags(keys keys) []string {
	return []string{
		"--kubeconfig=" + keys.kubeconfig(scheduler),
		"--secure-port=0",
		"--leader-elect=false",
		"--kube-api-qps=200",
		"--kube-api-burst=400",
		"--profiling=false",
	}
}

// MachinesConfig is what the hidden command "machines" reads.
type MachinesConfig struct {
	Kubeconfig   string            `json:"kubeconfig"`
	Nodes        int               `json:"nodes"`
	Zones        int               `json:"zones"`
	LeasePeriod  string            `json:"leasePeriod"`
	StatusPeriod string            `json:"statusPeriod"`
	Outlets      bool              `json:"outlets"`
	SystemUUIDs  map[string]string `json:"systemUUIDs,omitempty"`
	BMCUUIDs     map[string]string `json:"bmcUUIDs,omitempty"`
	StateDir     string            `json:"stateDir"`
	Socket       string            `json:"socket"`
}

// MachinesFile is the path of what the machines of a lab write.
func MachinesFile(dir labdir.Dir, name string) string {
	return filepath.Join(machinesFolder(dir), name)
}

func writeMachinesConfig(dir labdir.Dir, options Options) (string, error) {
	return writeMachinesFile(dir, MachinesConfig{
		Kubeconfig:   keyFolder(dir).kubeconfig(machines),
		Nodes:        options.Nodes,
		Zones:        options.Zones,
		LeasePeriod:  options.Lease.String(),
		StatusPeriod: options.Status.String(),
		Outlets:      options.Outlets,
		SystemUUIDs:  options.SystemUUIDs,
		BMCUUIDs:     options.BMCUUIDs,
		StateDir:     machinesFolder(dir),
		Socket:       dir.Socket(),
	})
}

// leaseFactor is the kubelet's: it renews a Lease four times while the Lease lasts.
const leaseFactor = 4

func writeRealConfig(dir labdir.Dir, options Options, programs programs) (string, error) {
	return writeMachinesFile(dir, real.Config{
		Folder:       dir.Path,
		Keys:         keyFolder(dir).dir,
		Nodes:        options.Nodes,
		Zones:        options.Zones,
		LeaseSeconds: max(1, int((leaseFactor * options.Lease).Seconds())),
		StatusPeriod: options.Status.String(),
		Programs:     programs.node,
		Agent:        programs.agent,
		SystemUUIDs:  options.SystemUUIDs,
		BMCUUIDs:     options.BMCUUIDs,
		StateDir:     machinesFolder(dir),
		Socket:       dir.Socket(),
	})
}

// machinesFolder is where the machines of a lab write.
func machinesFolder(dir labdir.Dir) string { return dir.File("machines") }

func writeMachinesFile(dir labdir.Dir, config any) (string, error) {
	if err := os.MkdirAll(machinesFolder(dir), 0o700); err != nil {
		return "", fmt.Errorf("make folder for machines: %w", err)
	}
	path := dir.File("machines.json")
	return path, writeJSON(path, config)
}

func writeJSON(path string, value any) error {
	raw, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return fmt.Errorf("encode %s: %w", filepath.Base(path), err)
	}
	if err := os.WriteFile(path, append(raw, '\n'), 0o600); err != nil {
		return fmt.Errorf("write %s: %w", filepath.Base(path), err)
	}
	return nil
}
