package identity

import (
	"errors"
	"testing"
)

const canonical = "4c4c4544-0043-3510-8052-b7c04f4e4d32"

func TestUUID(t *testing.T) {
	for _, spelling := range []string{
		canonical,
		"4C4C4544-0043-3510-8052-B7C04F4E4D32",
		"4c4c454400433510 8052b7c04f4e4d32"[:16] + "8052b7c04f4e4d32",
		"{4c4c4544-0043-3510-8052-b7c04f4e4d32}",
		"urn:uuid:4c4c4544-0043-3510-8052-b7c04f4e4d32",
		" 4c4c4544-0043-3510-8052-b7c04f4e4d32\n",
	} {
		got, err := UUID(spelling)
		if err != nil || got != canonical {
			t.Errorf("UUID(%q) = %q, %v", spelling, got, err)
		}
	}
	for _, bad := range []string{"", "x", canonical + "0", "g" + canonical[1:], "4c4c4544-0043-3510-8052"} {
		if _, err := UUID(bad); !errors.Is(err, ErrInvalid) {
			t.Errorf("UUID(%q): error %v, want ErrInvalid", bad, err)
		}
	}
}

func TestUUIDDoesNotAllocateWhenCanonical(t *testing.T) {
	if n := testing.AllocsPerRun(100, func() { _, _ = UUID(canonical) }); n != 0 {
		t.Errorf("%v allocations for a canonical UUID, want 0", n)
	}
}

func TestMAC(t *testing.T) {
	for _, spelling := range []string{"02:FA:44:00:00:0a", "02-fa-44-00-00-0a", "02fa.4400.000a", "02fa4400000A"} {
		got, err := MAC(spelling)
		if err != nil || got != "02:fa:44:00:00:0a" {
			t.Errorf("MAC(%q) = %q, %v", spelling, got, err)
		}
	}
	for _, bad := range []string{"", "02:fa:44:00:00", "02:fa:44:00:00:0g", "02:fa:44:00:00:0a:0b"} {
		if _, err := MAC(bad); !errors.Is(err, ErrInvalid) {
			t.Errorf("MAC(%q): error %v, want ErrInvalid", bad, err)
		}
	}
}

func TestIP(t *testing.T) {
	for spelling, want := range map[string]string{
		"127.64.0.1":      "127.64.0.1",
		"::ffff:10.0.0.1": "10.0.0.1",
		"2001:0db8:0000:0000:0000:0000:0000:0001": "2001:db8::1",
		"fe80::1%eth0": "fe80::1",
	} {
		got, err := IP(spelling)
		if err != nil || got != want {
			t.Errorf("IP(%q) = %q, %v; want %q", spelling, got, err, want)
		}
	}
	if _, err := IP("10.0.0.300"); !errors.Is(err, ErrInvalid) {
		t.Errorf("error %v, want ErrInvalid", err)
	}
}

func FuzzUUID(f *testing.F) {
	f.Add(canonical)
	f.Add("{}")
	f.Fuzz(func(t *testing.T, s string) {
		got, err := UUID(s)
		if err != nil {
			return
		}
		if again, err := UUID(got); err != nil || again != got {
			t.Errorf("canonical form %q of %q is not stable: %q, %v", got, s, again, err)
		}
	})
}
