package rollout

import (
	"fmt"
	"strconv"
	"strings"
)

// Amount is a number of things, or a share of all. The zero Amount is none at all, which means what its user says.
type Amount struct {
	count, percent int
	set            bool
}

// Count is so many.
func Count(n int) Amount { return Amount{count: n, set: true} }

// Percent is so much of all.
func Percent(p int) Amount { return Amount{percent: p, set: true} }

// ParseAmount reads "3" or "10%".
func ParseAmount(text string) (Amount, error) {
	digits, percent := strings.CutSuffix(text, "%")
	n, err := strconv.ParseUint(digits, 10, 31)
	switch {
	case err != nil:
		return Amount{}, fmt.Errorf("%.20q is neither a number nor a percentage", text)
	case percent && n > 100:
		return Amount{}, fmt.Errorf("%.20q is more than all", text)
	case percent:
		return Percent(int(n)), nil
	}
	return Count(int(n)), nil
}

// IsSet reports whether it is an amount at all.
func (a Amount) IsSet() bool { return a.set }

// floor is the amount of a whole, rounded down. A share that is not 0 is at least 1: a small fleet would never be done otherwise.
func (a Amount) floor(whole int) int {
	if a.percent == 0 {
		return a.count
	}
	return max(1, whole*a.percent/100)
}

// ceil is the amount of a whole, rounded up.
func (a Amount) ceil(whole int) int {
	if a.percent == 0 {
		return a.count
	}
	return (whole*a.percent + 99) / 100
}

// String is the amount as ParseAmount reads it.
func (a Amount) String() string {
	if a.percent != 0 {
		return strconv.Itoa(a.percent) + "%"
	}
	return strconv.Itoa(a.count)
}
