package page

import (
	"io/fs"
	"math"
	"regexp"
	"strconv"
	"testing"
)

var pairOf = regexp.MustCompile(`--([a-z-]+): light-dark\(#([0-9a-f]{6}), #([0-9a-f]{6})\)`)

// luminance is that of WCAG 2.2.
func luminance(t *testing.T, colour string) float64 {
	t.Helper()
	n, err := strconv.ParseUint(colour, 16, 32)
	if err != nil {
		t.Fatal(err)
	}
	part := func(shift uint) float64 {
		c := float64(n>>shift&0xff) / 255
		if c <= 0.04045 {
			return c / 12.92
		}
		return math.Pow((c+0.055)/1.055, 2.4)
	}
	return 0.2126*part(16) + 0.7152*part(8) + 0.0722*part(0)
}

// TestContrast: text has 4.5:1 on every ground that it stands on, and the edges of controls 3:1 (WCAG 2.2, 1.4.3 and 1.4.11).
func TestContrast(t *testing.T) {
	style, err := fs.ReadFile(Assets, "style.css")
	if err != nil {
		t.Fatal(err)
	}
	colours := map[string][2]string{}
	for _, m := range pairOf.FindAllStringSubmatch(string(style), -1) {
		colours[m[1]] = [2]string{m[2], m[3]}
	}
	grounds := []string{"ground", "panel", "raised", "wrong-ground", "warn-ground", "good-ground"}
	checked := 0
	for _, pair := range []struct {
		ink     []string
		grounds []string
		least   float64
	}{
		{[]string{"ink", "soft", "accent", "free", "used", "moves", "wrong"}, grounds, 4.5},
		{[]string{"edge"}, []string{"ground", "panel", "raised"}, 3},
		{[]string{"on-accent"}, []string{"accent"}, 4.5},
	} {
		for _, ink := range pair.ink {
			for _, ground := range pair.grounds {
				for theme, name := range []string{"light", "dark"} {
					a, b := luminance(t, colours[ink][theme]), luminance(t, colours[ground][theme])
					if ratio := (max(a, b) + 0.05) / (min(a, b) + 0.05); ratio < pair.least {
						t.Errorf("%s: --%s on --%s has %.2f, less than %.1f", name, ink, ground, ratio, pair.least)
					}
					checked++
				}
			}
		}
	}
	if checked != 2*(7*6+3+1) {
		t.Errorf("%d pairs checked", checked)
	}
}
