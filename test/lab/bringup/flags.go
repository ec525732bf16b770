package bringup

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/nodefence/nodefence/test/lab/labdir"
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

func writeControlPlaneConfig(dir labdir.Dir, options Options, port int) error {
	keys := keyFolder(dir)
	config := controlPlaneConfig{
		Etcd: etcdConfig{
			DataDir:      etcdFolder(dir),
			ClientSocket: dir.File("etcd.sock"),
			PeerSocket:   dir.File("peer.sock"),
			Fsync:        options.Fsync,
		},
		ListenerFD:        inheritedFD,
		Kubeconfig:        adminKubeconfig(dir),
		APIServer:         apiServerFlags(dir, keys, options, port),
		ControllerManager: controllerManagerFlags(dir, keys, options),
		Scheduler:         schedulerFlags(keys),
	}
	return errors.Join(writeAuditPolicy(dir), writeJSON(controlPlaneFile(dir), config))
}

func apiServerFlags(dir labdir.Dir, keys keys, options Options, port int) []string {
	eviction := strconv.Itoa(int(options.Eviction.Seconds()))
	return []string{
		"--etcd-servers=unix://" + dir.File("etcd.sock"),
		"--bind-address=127.0.0.1",
		"--secure-port=" + strconv.Itoa(port),
		// Without a default route it finds no address to advertise, and
		// Endpoints may not hold the one that it has.
		"--advertise-address=127.0.0.1",
		"--endpoint-reconciler-type=none",
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
	return filepath.Join(dir.File("machines"), name)
}

func writeMachinesConfig(dir labdir.Dir, options Options) (string, error) {
	stateDir := dir.File("machines")
	if err := os.MkdirAll(stateDir, 0o700); err != nil {
		return "", fmt.Errorf("make folder for machines: %w", err)
	}
	path := dir.File("machines.json")
	return path, writeJSON(path, MachinesConfig{
		Kubeconfig:   keyFolder(dir).kubeconfig(machines),
		Nodes:        options.Nodes,
		Zones:        options.Zones,
		LeasePeriod:  options.Lease.String(),
		StatusPeriod: options.Status.String(),
		Outlets:      options.Outlets,
		SystemUUIDs:  options.SystemUUIDs,
		BMCUUIDs:     options.BMCUUIDs,
		StateDir:     stateDir,
		Socket:       dir.Socket(),
	})
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
