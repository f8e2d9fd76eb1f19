package inbound

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDerive(t *testing.T) {
	for descriptors, want := range map[uint64]Shares{
		1024:    {Machines: Limits{255, 63, 191}, BMCs: Limits{42, 10, 31}, Operators: Limits{42, 10, 31}},
		20000:   {Machines: Limits{4999, 1249, 2048}, BMCs: Limits{833, 208, 624}, Operators: Limits{512, 128, 384}},
		1 << 20: {Machines: Limits{12288, 2048, 2048}, BMCs: Limits{2048, 512, 1536}, Operators: Limits{512, 128, 384}},
		1 << 63: {Machines: Limits{12288, 2048, 2048}, BMCs: Limits{2048, 512, 1536}, Operators: Limits{512, 128, 384}},
		10:      {Machines: Limits{16, 4, 12}, BMCs: Limits{16, 4, 12}, Operators: Limits{16, 4, 12}},
	} {
		got, err := Derive(descriptors, 0, 0)
		if err != nil {
			t.Errorf("%d: %v", descriptors, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%d:\n%s", descriptors, diff)
		}
		if all := got.Machines.Total + got.BMCs.Total + got.Operators.Total; descriptors >= 256 && uint64(all) > descriptors/2 {
			t.Errorf("%d: strangers get %d", descriptors, all)
		}
	}
}

func TestDeriveWhatIsAskedFor(t *testing.T) {
	for name, c := range map[string]struct {
		total, perAddress int
		want              Limits
		err               string
	}{
		"more":                        {total: 8000, want: Limits{8000, 2000, 2048}},
		"one address may have all":    {total: 100, perAddress: 100, want: Limits{100, 100, 75}},
		"one address alone":           {perAddress: 3, want: Limits{4999, 3, 2048}},
		"more than there are":         {total: 10001, err: "--max-connections: 10001"},
		"one address more than all":   {perAddress: 5000, err: "--max-connections-per-address: 5000"},
		"one address more than asked": {total: 100, perAddress: 101, err: "--max-connections-per-address: 101"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Derive(20000, c.total, c.perAddress)
			if (err != nil) != (c.err != "") || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Fatalf("error %v, want %q", err, c.err)
			}
			if err == nil && got.Machines != c.want {
				t.Errorf("%+v, want %+v", got.Machines, c.want)
			}
		})
	}
}
