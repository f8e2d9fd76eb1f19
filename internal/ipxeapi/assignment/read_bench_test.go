package assignment

import "testing"

// BenchmarkRead reads what a bootstrap script has a machine send.
func BenchmarkRead(b *testing.B) {
	const query = "uuid=6f0c2b1e-6d6a-4b5c-9a55-0a3c7d1e0001&mac=52-54-00-12-34-56&ip=10.0.2.15&serial=S0123&asset=&board-serial=&manufacturer=Emulated" +
		"&product=Standard%20PC&hostname=&domain=&buildarch=i386&cpuarch=x86_64&platform=pcbios&version=1.21.1&user-class="
	var s Subject
	b.ReportAllocs()
	for b.Loop() {
		if err := s.Read(query); err != nil {
			b.Fatal(err)
		}
	}
}
