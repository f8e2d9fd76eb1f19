package inspection

import (
	"errors"
	"strings"
	"testing"
)

func TestShape(t *testing.T) {
	whole := func(data string) string {
		return `{"systemUUID":"4c4c4544-0043-3510-8052-b7c04f4e4d32","data":` + data + `}`
	}
	for name, tc := range map[string]struct {
		body string
		want error
	}{
		"many empty objects":       {whole(`{"storage":[` + strings.Repeat("{},", maxValues) + `{}]}`), ErrTooLarge},
		"deep lists":               {whole(strings.Repeat("[", maxNesting+1)), ErrTooLarge},
		"deep objects":             {whole(strings.Repeat(`{"a":`, maxNesting+1)), ErrTooLarge},
		"a string of brackets":     {whole(`{"agentVersion":"` + strings.Repeat(`[{,\"`, maxValues) + `"}`), nil},
		"many disks":               {whole(`{"storage":[` + strings.Repeat(`{"name":"sda","serial":"x"},`, 1000) + `{}]}`), nil},
		"a string that never ends": {whole(`{"agentVersion":"\`), ErrMalformed},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := Decode(strings.NewReader(tc.body), 4<<20); !errors.Is(err, tc.want) {
				t.Errorf("%v, want %v", err, tc.want)
			}
		})
	}
}

// TestNothingIsDecodedOfWhatIsTooMuch: what is refused costs no more than its bytes.
func TestNothingIsDecodedOfWhatIsTooMuch(t *testing.T) {
	body := []byte(`{"data":{"storage":[` + strings.Repeat("{},", 1<<20) + `{}]}}`)
	if n := testing.AllocsPerRun(3, func() { _, _ = parse(body) }); n > 16 {
		t.Errorf("%v allocations", n)
	}
}

// FuzzShape: what passes is no deeper and holds no more than is allowed, whatever is in it.
func FuzzShape(f *testing.F) {
	for _, seed := range []string{`{"a":[1,2,{}]}`, `"\\\""`, `[[[`, `{"a":"[,"}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		if checkShape(body) == nil && len(body) < maxValues {
			_, _ = Decode(strings.NewReader(string(body)), 4<<20)
		}
	})
}
