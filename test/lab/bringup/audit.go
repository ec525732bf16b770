package bringup

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/nodefence/nodefence/test/lab/labdir"
)

// auditPolicy says which writes the API server logs: those that test/judge reads.
//
//go:embed auditpolicy.yaml
var auditPolicy []byte

// auditMegabytes is the size at which the audit log is renamed, and a new one begun. The one before
// it is kept, so that a lab has at most twice as much.
const auditMegabytes = 1024

// auditPolicyFile is where the API server reads auditPolicy.
func auditPolicyFile(dir labdir.Dir) string { return dir.File("auditpolicy.yaml") }

// AuditFile is the audit log of a lab's API server, a JSON text a line.
func AuditFile(dir labdir.Dir) string { return dir.File("audit.jsonl") }

// AuditFiles returns the audit logs that there are, oldest first.
func AuditFiles(dir labdir.Dir) ([]string, error) {
	older, err := filepath.Glob(dir.File("audit-*.jsonl"))
	slices.Sort(older)
	return append(older, AuditFile(dir)), err
}

// writeAuditPolicy writes the policy, and an empty log: the API server appends to a log that is there, so
// that emptyAudit can cut it.
func writeAuditPolicy(dir labdir.Dir) error {
	if err := errors.Join(os.WriteFile(auditPolicyFile(dir), auditPolicy, 0o600), os.WriteFile(AuditFile(dir), nil, 0o600)); err != nil {
		return fmt.Errorf("write audit policy: %w", err)
	}
	return nil
}

// emptyAudit forgets what was logged until now.
func emptyAudit(dir labdir.Dir) error {
	all, err := AuditFiles(dir)
	if err != nil {
		return err
	}
	for _, older := range all[:len(all)-1] {
		err = errors.Join(err, os.Remove(older))
	}
	return errors.Join(err, os.Truncate(AuditFile(dir), 0))
}

// noteRestore appends a line to the audit log that says that resourceVersions went back here.
func noteRestore(dir labdir.Dir) error {
	line, err := json.Marshal(map[string]string{"kind": "Restored", "stageTimestamp": time.Now().UTC().Format(time.RFC3339Nano)})
	if err != nil {
		return err
	}
	log, err := os.OpenFile(AuditFile(dir), os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("open audit log: %w", err)
	}
	_, err = log.Write(append(line, '\n'))
	return errors.Join(err, log.Close())
}
