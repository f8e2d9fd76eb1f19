package controlplane

import "testing"

func TestUpkeep(t *testing.T) {
	const mib = 1 << 20
	idle := storeUse{applied: 10, snapshot: 1, quiet: quietFor, size: 100 * mib, inUse: 90 * mib, quota: 8192 * mib, room: 10000 * mib}
	for name, c := range map[string]struct {
		change func(*storeUse)
		want   storeUpkeep
	}{
		"nothing to do":         {func(*storeUse) {}, storeUpkeep{}},
		"many entries":          {func(u *storeUse) { u.applied = u.snapshot + etcdSnapshotCount }, storeUpkeep{snapshot: true}},
		"not yet many":          {func(u *storeUse) { u.applied = u.snapshot + etcdSnapshotCount - 1 }, storeUpkeep{}},
		"much unused":           {func(u *storeUse) { u.size, u.inUse = 600*mib, 200*mib }, storeUpkeep{defrag: true}},
		"much unused, busy":     {func(u *storeUse) { u.size, u.inUse, u.quiet = 600*mib, 200*mib, quietFor-1 }, storeUpkeep{}},
		"much unused, no room":  {func(u *storeUse) { u.size, u.inUse, u.room = 600*mib, 200*mib, 250*mib }, storeUpkeep{}},
		"little unused":         {func(u *storeUse) { u.size, u.inUse = 600*mib, 400*mib }, storeUpkeep{}},
		"nearly at the quota":   {func(u *storeUse) { u.size, u.inUse, u.quiet = 7000*mib, 4000*mib, 0 }, storeUpkeep{defrag: true}},
		"alarm, history":        {func(u *storeUse) { u.alarm, u.size, u.inUse, u.quiet = true, 8192*mib, 8100*mib, 0 }, storeUpkeep{compact: true}},
		"alarm, much unused":    {func(u *storeUse) { u.alarm, u.size, u.inUse, u.quiet = true, 8192*mib, 1000*mib, 0 }, storeUpkeep{compact: true, defrag: true}},
		"alarm, room was made":  {func(u *storeUse) { u.alarm, u.size, u.inUse = true, 1000*mib, 1000*mib }, storeUpkeep{compact: true, disarm: true}},
		"alarm, all is in use":  {func(u *storeUse) { u.alarm, u.size, u.inUse = true, 8192*mib, 8192*mib }, storeUpkeep{compact: true}},
		"alarm, no room beside": {func(u *storeUse) { u.alarm, u.size, u.inUse, u.room = true, 8192*mib, 1000*mib, 900*mib }, storeUpkeep{compact: true}},
	} {
		t.Run(name, func(t *testing.T) {
			use := idle
			c.change(&use)
			if got := decideUpkeep(use); got != c.want {
				t.Errorf("%+v, want %+v", got, c.want)
			}
		})
	}
}
