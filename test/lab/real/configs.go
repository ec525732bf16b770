package real

import "fmt"

// containerd of Debian 12 cannot set an OOM score below its own without CAP_SYS_RESOURCE.
const containerdText = `version = 2
disabled_plugins = ["io.containerd.snapshotter.v1.btrfs", "io.containerd.snapshotter.v1.aufs", "io.containerd.snapshotter.v1.zfs", "io.containerd.snapshotter.v1.devmapper", "io.containerd.internal.v1.opt", "io.containerd.tracing.processor.v1.otlp"]
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "` + PauseImage + `"
  restrict_oom_score_adj = true
  disable_apparmor = true
[plugins."io.containerd.grpc.v1.cri".containerd]
  snapshotter = "overlayfs"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
  runtime_type = "io.containerd.runc.v2"
[plugins."io.containerd.grpc.v1.cri".cni]
  bin_dir = "` + cniFolder + `"
  conf_dir = "` + cniConfig + `"
`

// writeConfigs writes the configuration of a machine's services.
func writeConfigs(b Boot) error {
	if err := writeFiles(map[string]string{containerdConfig: containerdText, cniConfig + "/10-lab.conflist": cniText(b)}); err != nil {
		return err
	}
	if err := writeJSON(kubeletConfig, kubeletSettings(b)); err != nil {
		return err
	}
	return writeJSON(proxyConfig, proxySettings(b))
}

func cniText(b Boot) string {
	return fmt.Sprintf(`{"cniVersion": "1.0.0", "name": "lab", "plugins": [
  {"type": "bridge", "bridge": "cni0", "isGateway": true, "ipMasq": false, "hairpinMode": true,
   "ipam": {"type": "host-local", "ranges": [[{"subnet": %q}]], "routes": [{"dst": "0.0.0.0/0"}]}},
  {"type": "portmap", "capabilities": {"portMappings": true}}]}
`, podNetwork(b.Index))
}

// kubeletSettings is a KubeletConfiguration. The disk is shared with this machine, so that the kubelet evicts for no
// full disk.
func kubeletSettings(b Boot) map[string]any {
	return map[string]any{
		"apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration",
		"failCgroupV1": false, "cgroupDriver": "cgroupfs", "containerRuntimeEndpoint": "unix://" + containerdSocket,
		"authentication": map[string]any{
			"anonymous": map[string]any{"enabled": false}, "webhook": map[string]any{"enabled": true}, "x509": map[string]any{"clientCAFile": b.ClientCA},
		},
		"authorization": map[string]any{"mode": "Webhook"},
		"tlsCertFile":   b.Cert, "tlsPrivateKeyFile": b.Key,
		"clusterDNS": []string{clusterDNS}, "clusterDomain": "cluster.local", "resolvConf": "/etc/resolv.conf",
		"failSwapOn": false, "oomScoreAdj": 0, "enforceNodeAllocatable": []string{"pods"}, "imageGCHighThresholdPercent": 100,
		"evictionHard":              map[string]string{"nodefs.available": "1%", "imagefs.available": "1%", "memory.available": "50Mi"},
		"nodeStatusUpdateFrequency": b.StatusPeriod, "nodeStatusReportFrequency": b.StatusPeriod, "nodeLeaseDurationSeconds": b.LeaseSeconds,
		"shutdownGracePeriod": "0s", "volumePluginDir": "/run/volume-plugins", "podLogsDir": "/var/log/pods",
	}
}

// proxySettings is a KubeProxyConfiguration. Settings of conntrack cannot be written outside of the first network
// namespace.
func proxySettings(b Boot) map[string]any {
	return map[string]any{
		"apiVersion": "kubeproxy.config.k8s.io/v1alpha1", "kind": "KubeProxyConfiguration", "mode": "nftables",
		"clientConnection": map[string]any{"kubeconfig": b.ProxyKubeconfig}, "clusterCIDR": PodNetwork, "hostnameOverride": b.Node, "oomScoreAdj": 0,
		"conntrack": map[string]any{"maxPerCore": 0, "min": 0, "tcpEstablishedTimeout": "0s", "tcpCloseWaitTimeout": "0s"},
	}
}
