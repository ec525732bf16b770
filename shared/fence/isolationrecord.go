package fence

import api "github.com/nodefence/nodefence/shared/api/v1alpha1"

// What came of each device of the isolation stands in status.isolation, by the device's
// name.

// isolationRecords has one record for each device, and those of what we cut and is bound no
// more: it is owed. From here a nodefence that knows of none leaves the fence alone: it
// would lose what is to be given back (S21).
func (d *decision) isolationRecords() {
	var all []api.IsolationRecord
	for i := range d.dec.Isolation() {
		b := &d.dec.Isolation()[i]
		switch r := d.recordOf(b.Name); {
		case r == nil:
			d.st.MinReaderVersion = max(d.st.MinReaderVersion, api.SchemaIsolation)
			all = append(all, api.RecordOf(b))
		case r.SwitchedByUs || r.Of(b):
			all = append(all, *r)
		default:
			all = append(all, api.RecordOf(b)) // it was of another device
		}
	}
	for _, r := range d.st.Isolation {
		if r.SwitchedByUs && d.deviceIndex(r.Device) < 0 {
			all = append(all, r)
		}
	}
	d.st.Isolation = all
}
