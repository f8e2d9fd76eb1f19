package fleet

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/farrier-dev/farrier/internal/bmc"
)

func firmware(ctx context.Context, s Services) error {
	_, err := s.Firmware(ctx)
	return err
}

func (s *stand) do(j Job) {
	s.t.Helper()
	if err := s.fleet.Do(s.key, j); err != nil {
		s.t.Fatal(err)
	}
}

func TestJobs(t *testing.T) {
	s := met(t, nil)
	s.do(Job{ID: "1", Run: firmware})
	s.do(Job{ID: "1", Run: firmware}) // the same
	s.runFor(time.Second)
	if diff := cmp.Diff([]string{"firmware"}, s.bmc.calls()); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	if got := s.status("1"); got.State != Succeeded || got.Start.IsZero() || got.End.IsZero() || s.observation().Job.ID != "1" || s.told == 0 {
		t.Errorf("%+v, told %d times", got, s.told)
	}
	for name, test := range map[string]struct {
		key  Key
		j    Job
		want error
	}{
		"no ID":       {s.key, Job{Run: firmware}, ErrInvalidCommand},
		"nothing":     {s.key, Job{ID: "2"}, ErrInvalidCommand},
		"unknown BMC": {"nowhere", Job{ID: "2", Run: firmware}, ErrUnknownBMC},
	} {
		if err := s.fleet.Do(test.key, test.j); !errors.Is(err, test.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// What a job meets is the job's; only a refused password stops everything, and a BMC that
// does not answer a job is asked whether it answers at all.
func TestJobsThatFail(t *testing.T) {
	for _, test := range []struct {
		err     error
		want    []string
		circuit Circuit
	}{
		{&bmc.Error{Kind: bmc.KindRejected, StatusCode: 400}, []string{"firmware"}, CircuitClosed},
		{errTimeout, []string{"firmware", "system"}, CircuitClosed},
		{errAuth, []string{"firmware"}, CircuitRefused},
		{ // credentials that the job tried out are not those of the actor
			&bmc.Error{Kind: bmc.KindAuthentication, StatusCode: 401, Err: bmc.ErrNotVerified},
			[]string{"firmware", "system"}, CircuitClosed,
		},
	} {
		s := met(t, nil)
		s.bmc.fail = failOn("firmware", test.err)
		s.do(Job{ID: "1", Run: firmware})
		s.runFor(time.Second)
		if got := s.status("1"); got.State != Failed || !errors.Is(got.Err, test.err) {
			t.Errorf("%v: %+v", test.err, got)
		}
		if diff := cmp.Diff(test.want, s.bmc.calls()); diff != "" {
			t.Errorf("%v: requests (-want +got):\n%s", test.err, diff)
		}
		if got := s.observation().Circuit; got != test.circuit {
			t.Errorf("%v: circuit %q, want %q", test.err, got, test.circuit)
		}
	}
}

func TestJobsHaveABudget(t *testing.T) {
	s := met(t, nil)
	s.do(Job{ID: "1", Budget: time.Millisecond, Run: func(ctx context.Context, _ Services) error {
		<-ctx.Done()
		return ctx.Err()
	}})
	s.step()
	if got := s.status("1"); got.State != Failed || !errors.Is(got.Err, context.DeadlineExceeded) {
		t.Errorf("%+v", got)
	}
}

// changer is a client whose password a job changes.
type changer struct {
	*fakeBMC
	now bmc.Credentials
}

func (c *changer) Uses(_ context.Context, credentials bmc.Credentials) bool {
	return c.now == credentials
}

// Who changes the password through a job and then says so to the fleet keeps the session.
func TestPasswordChangedByAJob(t *testing.T) {
	s := met(t, nil)
	next := bmc.Credentials{Username: "admin", Password: "marker-next"}
	s.actor.client = &changer{fakeBMC: s.bmc, now: next}
	s.fleet.Ensure(Spec{Endpoint: s.actor.spec.Endpoint, Credentials: next})
	s.runFor(time.Second)
	if diff := cmp.Diff([]string{"system"}, s.bmc.calls()); diff != "" {
		t.Errorf("with the same session (-want +got):\n%s", diff)
	}
	if s.clients != 1 {
		t.Errorf("%d clients", s.clients)
	}
}
