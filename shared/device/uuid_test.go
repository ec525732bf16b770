package device

import "testing"

// TestFirmwareUUID: a UUID is written as the Node has it, in whatever order its bytes come.
func TestFirmwareUUID(t *testing.T) {
	const uuid = "e9f3a1d2-77b0-4c9d-9d7e-5a6b7c8d9e0f"
	raw, _ := uuidBytes(uuid)
	for name, tc := range map[string]struct {
		raw  []byte
		want string
	}{
		"of SMBIOS":                  {smbios(raw), uuid},
		"as printed":                 {raw, uuid},
		"reversed":                   {reversed(raw), uuid},
		"never set":                  {make([]byte, 16), ""},
		"of no version, as SMBIOS's": {[]byte{0x33, 0x22, 0x11, 0x00, 0x55, 0x44, 0x07, 0x06, 0x08, 1, 2, 3, 4, 5, 6, 7}, "00112233-4455-0607-0801-020304050607"},
	} {
		if got := FirmwareUUID([16]byte(tc.raw)); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

func TestUUID(t *testing.T) {
	const uuid = "00112233-4455-6677-8899-aabbccddeeff"
	const not = `" is not a UUID, such as ` + uuid
	for in, want := range map[string]struct{ text, err string }{
		uuid:                                    {text: uuid},
		" 00112233-4455-6677-8899-AABBCCDDEEFF": {text: uuid},
		"00112233445566778899aabbccddeeff":      {text: uuid},
		"":                                      {err: `uuid "` + not},
		"worker-7":                              {err: `uuid "worker-7` + not},
		uuid[:35]:                               {err: `uuid "` + uuid[:35] + not},
		"0-0112233445566778899aabbccddeeff":     {err: `uuid "0-0112233445566778899aabbccddeeff` + not},
		"00000000-0000-0000-0000-000000000000":  {err: `uuid "00000000-0000-0000-0000-000000000000" is what firmware writes where none was set`},
	} {
		got, err := UUID("uuid", in)
		text := ""
		if err != nil {
			text = err.Error()
		}
		if got != want.text || text != want.err {
			t.Errorf("UUID of %q: %q, %q", in, got, text)
		}
	}
}
