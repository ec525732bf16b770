package manifests

// OldestKubernetes is the oldest version whose API server takes and enforces all of these manifests.
const OldestKubernetes = "1.30"
