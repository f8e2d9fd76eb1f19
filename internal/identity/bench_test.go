package identity

import "testing"

// BenchmarkOctets is what a look into an index begins with.
func BenchmarkOctets(b *testing.B) {
	b.Run("UUID", func(b *testing.B) {
		for b.Loop() {
			MachineUUIDOctets(canonical)
		}
	})
	b.Run("MAC", func(b *testing.B) {
		for b.Loop() {
			MachineMACOctets("02:fa:44:00:00:0a")
		}
	})
}

// BenchmarkCanonical is what the labels of a machine that names itself are brought into and asked.
func BenchmarkCanonical(b *testing.B) {
	for name, call := range map[string]func(){
		"UUID":             func() { _, _ = UUID(canonical) },
		"MAC":              func() { _, _ = MAC("02-fa-44-00-00-0a") },
		"IP":               func() { _, _ = IP("10.0.2.15") },
		"placeholder/UUID": func() { Placeholder(canonical) },
		"placeholder/MAC":  func() { Placeholder("02:fa:44:00:00:0a") },
		"placeholder/text": func() { Placeholder("S0123") },
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				call()
			}
		})
	}
}
