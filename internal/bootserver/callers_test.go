package bootserver

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/farrier-dev/farrier/internal/bootview"
)

// A machine under discovery has no address that anybody knows of: what comes from the one that asked for its script is its own, for a
// while, until another one asks for its own from there.
func TestWhoseAnUnknownAddressIs(t *testing.T) {
	const unknown = "192.0.2.77"
	clock := clocktesting.NewFakePassiveClock(now)
	s := newSite(t, func(c *Config) { c.Clock = clock })
	ask := func(path string) []Delivery {
		s.do("GET", exchange{path: path, from: unknown})
		var named []Delivery
		for _, d := range s.takeDelivered() {
			if d.UUID != "" {
				named = append(named, Delivery{Kind: d.Kind, UUID: d.UUID, Attempt: d.Attempt, Entry: d.Entry, Time: d.Time})
			}
		}
		return named
	}
	check := func(path string, want ...Delivery) {
		t.Helper()
		if diff := cmp.Diff(want, ask(path)); diff != "" {
			t.Errorf("%s at %s (-want +got):\n%s", path, clock.Now().Sub(now), diff)
		}
	}
	pass := func(d time.Duration) { clock.SetTime(clock.Now().Add(d)) }
	chainloadAt := func(at time.Time) Delivery {
		return Delivery{Kind: Chainload, UUID: uuidA, Attempt: "attempt-a", Time: at}
	}
	script := func() Delivery {
		return Delivery{Kind: Script, UUID: uuidA, Attempt: "attempt-a", Entry: "IPXEBootConfig/ns/a", Time: clock.Now()}
	}
	artifact := func() Delivery {
		return Delivery{Kind: Artifact, UUID: uuidA, Attempt: "attempt-a", Entry: "IPXEBootConfig/ns/a", Time: clock.Now()}
	}
	check("/image?x")
	check("/ipxe")
	pass(earlierAnswers)
	check("/ipxe/"+uuidA, script()) // the chainload is too long ago
	pass(time.Second)
	check("/ipxe")
	pass(time.Second)
	check("/ipxe") // again; the last one led on
	last := clock.Now()
	pass(time.Second)
	check("/ipxe/"+uuidA, chainloadAt(last), script())
	check("/image?x", artifact())
	pass(scriptHolds - time.Second)
	check("/image?x", artifact())
	pass(time.Second)
	check("/image?x")
	check("/ipxe/"+uuidA, script())
	check("/ipxe/"+uuidD, Delivery{Kind: Script, UUID: uuidD, Entry: "IPXEBootConfig/ns/d", Time: clock.Now()})
	check("/image?x", Delivery{Kind: Artifact, UUID: uuidD, Entry: "IPXEBootConfig/ns/d", Time: clock.Now()})
}

func TestCallersAreBounded(t *testing.T) {
	var c callers
	m := &bootview.Machine{UUID: uuidA}
	var all sync.WaitGroup
	for part := range 4 { // at once, for the race detector
		all.Go(func() {
			for i := range callerShards * shardCallers {
				addr := fmt.Sprintf("10.%d.%d.%d", part, i>>8, i&0xff)
				c.wait(Delivery{Kind: Chainload, Addr: addr, Time: now})
				c.isAt(addr, m, now)
				c.asked(addr, now)
			}
		})
	}
	all.Wait()
	for i := range c.shards {
		if n := c.shards[i].by.Len(); n != shardCallers {
			t.Errorf("shard %d holds %d addresses", i, n)
		}
	}
	for i := range 3 * maxEarlier {
		c.wait(Delivery{Kind: Program, What: fmt.Sprint(i), Addr: "a", Time: now})
	}
	earlier := c.isAt("a", m, now)
	if n := len(earlier); n != maxEarlier || earlier[n-1].What != fmt.Sprint(3*maxEarlier-1) {
		t.Errorf("%d earlier answers: %+v", n, earlier)
	}
}

func TestArtifactNames(t *testing.T) {
	s := newSite(t, nil)
	for query, want := range map[string]string{
		"layerDigest=sha256:0123456789abcdef0123":                      "0123456789ab",
		"layerDigest=sha256:0123456789ABCDEF%1b":                       "",
		"layerDigest=short":                                            "",
		"layerName=application/vnd.ironcore.image.kernel":              "kernel",
		"layerName=a.%1b[31mred":                                       "",
		"layerName=application/vnd.ironcore.averyveryverylongsuffixof": "",
		"": "",
	} {
		s.do("GET", exchange{path: "/image?" + query, from: addrA})
		if got := s.takeDelivered(); len(got) != 1 || got[0].What != want {
			t.Errorf("%q: %+v, want %q", query, got, want)
		}
	}
}
