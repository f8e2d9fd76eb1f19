package bmcuser

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bmc"
	"github.com/farrier-dev/farrier/internal/controller/controllertest"
)

// TestFiftyRotationsUnderTwentyKills: whenever the process ends, no account locks, no password gets lost, and all rotations come to their end.
func TestFiftyRotationsUnderTwentyKills(t *testing.T) {
	for seed := range uint64(4) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			stands(t, 50, func(t *testing.T, s *stand) { rotateUnderKills(t, s, &dice{random: rand.New(rand.NewPCG(seed, 1))}) })
		})
	}
}

// dice are thrown by the test and by the BMCs, each in a goroutine of its own.
type dice struct {
	mu     sync.Mutex
	random *rand.Rand
}

func (d *dice) IntN(n int) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.random.IntN(n)
}

func rotateUnderKills(t *testing.T, s *stand, random *dice) {
	t.Helper()
	s.pass(t, time.Minute)
	before := map[int]string{}
	for i := range s.keys {
		before[i] = s.holds(t, i)
		s.bmc(i).OtherAccounts(func(a *controllertest.Accounts) {
			a.OnChange = func(string) (bool, error) {
				if random.IntN(4) > 0 {
					return true, nil
				}
				return random.IntN(2) == 0, &bmc.Error{Kind: bmc.KindTimeout, Op: "PATCH", Err: errors.New("no answer")}
			}
		})
		s.asks(t, i, metalv1.OperationRotateCredentials)
	}
	for range 20 {
		for range random.IntN(300) {
			s.Step(t, s.Reconciler, fmt.Sprintf("u%d", random.IntN(len(s.keys))))
			if random.IntN(10) == 0 {
				s.rack.Pass(time.Second)
			}
		}
		s.restart(t)
		for i := range s.keys {
			s.known(t, i)
		}
	}
	s.pass(t, 2*time.Hour)
	for i := range s.keys {
		if s.holds(t, i) == before[i] {
			t.Errorf("the password at BMC %d was not replaced", i)
		}
		s.bmc(i).OtherAccounts(func(a *controllertest.Accounts) {
			if a.Lockouts > 0 {
				t.Errorf("BMC %d: %d lockouts", i, a.Lockouts)
			}
		})
	}
}
