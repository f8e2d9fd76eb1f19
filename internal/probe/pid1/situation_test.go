//go:build linux

package pid1

import (
	"testing"
	"time"
)

func TestNextStep(t *testing.T) {
	held := &lease6{preferred: 60 * time.Second, valid: 100 * time.Second, renew: 40 * time.Second, rebind: 80 * time.Second}
	for name, c := range map[string]struct {
		given situation
		want  step
	}{
		"a link that has just come up":                   {situation{}, stepWait},
		"a router says that there is DHCP":               {situation{managed: true}, stepSolicit},
		"and offers a prefix as well":                    {situation{managed: true, address: true}, stepSolicit},
		"a router offers a prefix alone":                 {situation{address: true, up: time.Hour}, stepWait},
		"no router":                                      {situation{up: routerWait}, stepSolicit},
		"no router yet":                                  {situation{up: routerWait - 1}, stepWait},
		"a prefix, and nobody says what to boot":         {situation{address: true, unknown: true}, stepInform},
		"DHCP, and nobody says what to boot yet":         {situation{managed: true, unknown: true}, stepSolicit},
		"a lease, and nobody says what to boot":          {situation{managed: true, unknown: true, lease: held}, stepInform},
		"nobody says it however often it is asked":       {situation{address: true, unknown: true, asked: mostAsked}, stepWait},
		"a new lease":                                    {situation{managed: true, lease: held, held: 39 * time.Second}, stepWait},
		"a lease of some age":                            {situation{managed: true, lease: held, held: 40 * time.Second}, stepRenew},
		"a lease of some age, whose router is away":      {situation{up: time.Hour, lease: held, held: 40 * time.Second}, stepRenew},
		"a lease of some age is more urgent than a boot": {situation{unknown: true, lease: held, held: 40 * time.Second}, stepRenew},
		"a lease that its server did not renew":          {situation{managed: true, lease: held, held: 80 * time.Second}, stepRebind},
		"a lease that nobody renewed":                    {situation{managed: true, lease: held, held: 100 * time.Second}, stepSolicit},
	} {
		got, pause := c.given.next()
		if got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
		if (pause > 0) != (got == stepWait) {
			t.Errorf("%s: %s, and then nothing for %s", name, got, pause)
		}
	}
}
