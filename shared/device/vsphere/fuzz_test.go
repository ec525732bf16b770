package vsphere

import (
	"encoding/xml"
	"testing"
)

// FuzzAnswer reads vSphere's answer to a read of properties. Bytes that are no whole envelope are an
// error, and no empty answer.
func FuzzAnswer(f *testing.F) {
	const head, tail = `<Envelope xmlns="http://schemas.xmlsoap.org/soap/envelope/"><Body>`, `</Body></Envelope>`
	const read = `<RetrievePropertiesResponse xmlns="urn:vim25"><returnval><obj type="VirtualMachine">vm-1</obj><propSet><name>runtime.powerState</name><val>poweredOff</val></propSet></returnval></RetrievePropertiesResponse>`
	for _, text := range []string{
		head + read + tail, head + read, head + tail, xml.Header, ``, read,
		head + `<Fault><faultcode>ServerFaultCode</faultcode><faultstring>no</faultstring><detail><NoPermissionFault><privilegeId>p</privilegeId></NoPermissionFault></detail></Fault>` + tail,
		head + `<Fault/>` + tail, head + `<RetrievePropertiesResponse/>` + tail,
	} {
		f.Add(200, []byte(text))
		f.Add(500, []byte(text))
	}
	f.Fuzz(func(t *testing.T, code int, text []byte) {
		got, err := answer("RetrieveProperties", code, text)
		if err != nil {
			if got.name() != "" || err.Error() == "" {
				t.Errorf("%q is read as %+v, and as the error %v", text, got, err)
			}
			return
		}
		var whole struct {
			XMLName xml.Name
		}
		if uerr := xml.Unmarshal(text, &whole); code != 200 || uerr != nil || whole.XMLName.Local != "Envelope" {
			t.Errorf("%d %q is read as an answer: %v", code, text, uerr)
		}
		for _, found := range got.all("returnval") {
			found.at("obj").ref()
			for _, set := range found.all("propSet") {
				_ = set.at("name").text() + set.at("val").ref().as("x")
			}
		}
	})
}
