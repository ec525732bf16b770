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

// noteIsolation records what this invocation's call to a device of the isolation gave.
func (d *decision) noteIsolation(claim *api.Claim, b *api.Binding, c *CallResult) {
	r := d.recordOf(b.Name)
	if r == nil {
		return // of an earlier fence
	}
	d.callDevice = b.Name
	if c.Blind && r.SwitchedByUs {
		c.Power, c.Err = "Off", "" // we have seen it with access, by this very binding, and cut it
	}
	r.LastError = c.Err
	d.noteDenied(b, c)
	if c.Call != api.CallRead {
		r.EffectUntil = d.at(d.late(claim, c))
		r.LastRead = nil // S9: read before anything else
		return
	}
	if c.Power != "Off" {
		r.FirstCut = nil // two reads with a doubt between them are not two in a row (S2)
	}
	r.LastRead = &api.Read{State: api.StateOf(c.Power), Identity: c.Identity, At: *d.stamp(c.At)}
}

// lostIsolationCall takes over a claim whose holder never reported.
func (d *decision) lostIsolationCall(c *api.Claim) {
	r := d.recordOf(c.Device)
	if r == nil {
		return
	}
	r.LastRead = nil
	switch c.Call {
	case api.CallOff:
		r.OffAt = nil
	case api.CallOn:
		r.OnAt = nil
	}
	r.Tries++
	d.tell(api.CallLost, "nobody reported the end of a "+string(c.Call)+" to "+r.Words()+"; reading it first")
}
