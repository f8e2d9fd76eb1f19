package policyspec

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"

	farrierv1 "github.com/farrier-dev/farrier/api/farrier/v1alpha1"
	"github.com/farrier-dev/farrier/internal/rollout"
)

// defaultReturnTimeout is how long a server may take to be available again.
const defaultReturnTimeout = 2 * time.Hour

// SpecError says which field of a RolloutPolicy cannot be read.
type SpecError struct {
	// Field is its path, such as spec.windows[0].
	Field string
	Err   error
}

// Error names the field.
func (e *SpecError) Error() string { return e.Field + ": " + e.Err.Error() }

// Unwrap is what is wrong with it.
func (e *SpecError) Unwrap() error { return e.Err }

func specError(err error, format string, args ...any) error {
	return &SpecError{"spec." + fmt.Sprintf(format, args...), err}
}

// Read reads what a RolloutPolicy says. Its errors are SpecErrors.
func Read(spec *farrierv1.RolloutPolicySpec) (rollout.Policy, error) {
	p := rollout.Policy{Classes: map[string]int{}, Return: defaultReturnTimeout}
	var err error
	for _, amount := range []struct {
		field string
		value *intstr.IntOrString
		into  *rollout.Amount
	}{
		{"maxUnavailable.fleet", spec.MaxUnavailable.Fleet, &p.Fleet},
		{"maxUnavailable.zone", spec.MaxUnavailable.Zone, &p.Zone},
		{"maxUnavailable.rack", spec.MaxUnavailable.Rack, &p.Rack},
		{"failureLimit", spec.FailureLimit, &p.Failures},
	} {
		if amount.value == nil {
			continue
		}
		if *amount.into, err = readAmount(*amount.value); err != nil {
			return rollout.Policy{}, specError(err, "%s", amount.field)
		}
	}
	for i, w := range spec.Waves {
		wave, err := readWave(w)
		if err != nil {
			return rollout.Policy{}, specError(err, "waves[%d]", i)
		}
		p.Waves = append(p.Waves, wave)
	}
	for i, w := range spec.Windows {
		d, err := time.ParseDuration(w.Duration)
		if err != nil {
			return rollout.Policy{}, specError(fmt.Errorf("%.32q is no duration", w.Duration), "windows[%d].duration", i)
		}
		window, err := rollout.NewWindow(w.Start, d, w.TimeZone)
		if err != nil {
			return rollout.Policy{}, specError(err, "windows[%d]", i)
		}
		p.Windows = append(p.Windows, window)
	}
	for _, l := range spec.FailureLimits {
		p.Classes[l.Reason] = int(l.Limit)
	}
	if spec.ReturnTimeout != "" {
		if p.Return, err = time.ParseDuration(spec.ReturnTimeout); err != nil {
			return rollout.Policy{}, specError(fmt.Errorf("%.32q is no duration", spec.ReturnTimeout), "returnTimeout")
		}
	}
	if spec.Paused {
		p.Held = rollout.Paused
	}
	return p, nil
}

func readAmount(value intstr.IntOrString) (rollout.Amount, error) {
	a, err := rollout.ParseAmount(value.String())
	if err == nil && a == rollout.Count(0) {
		err = fmt.Errorf("%s lets nothing begin: it must be 1 or 1%% at least; spec.paused holds everything", value.String())
	}
	return a, err
}

func readWave(w farrierv1.Wave) (rollout.Wave, error) {
	upTo, err := readAmount(w.UpTo)
	if err != nil {
		return rollout.Wave{}, fmt.Errorf("upTo: %w", err)
	}
	wave := rollout.Wave{UpTo: upTo}
	for _, gate := range w.Gates {
		known := map[farrierv1.Gate]rollout.Gate{farrierv1.GateHealth: rollout.Health, farrierv1.GateProbeBoot: rollout.ProbeBoot}[gate]
		if known == "" {
			return rollout.Wave{}, fmt.Errorf("gates: %.32q is no gate", gate)
		}
		wave.Gates = append(wave.Gates, known)
	}
	if w.Bake != "" {
		if wave.Bake, err = time.ParseDuration(w.Bake); err != nil || wave.Bake < 0 {
			return rollout.Wave{}, fmt.Errorf("bake: %.32q is no duration", w.Bake)
		}
	}
	return wave, nil
}
