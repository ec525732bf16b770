package device

import "testing"

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
