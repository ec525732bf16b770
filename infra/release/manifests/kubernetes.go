package manifests

// OldestKubernetes is the oldest version that nodefence is tested on (make e2e-oldest).
const OldestKubernetes = "1.31"
