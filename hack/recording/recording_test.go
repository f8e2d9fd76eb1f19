package main

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestRecording: what a command shows in a terminal is in the picture, in its colours, and the picture is XML.
func TestRecording(t *testing.T) {
	const script = `printf 'first <&>\n'; sleep 0.3; printf '\033[1F\033[K\033[31mred\033[0m \033[2mfaint\033[0m\n'`
	frames, err := record(t.Context(), 40, 5, 10*time.Millisecond, []string{"sh", "-c", script})
	if err != nil {
		t.Fatal(err)
	}
	if last := frames[len(frames)-1]; len(last.rows) != 1 || strings.Contains(last.rows[0], "first") {
		t.Errorf("the last frame is %+v", last)
	}
	drawn := string(picture("A demo", 40, frames))
	for _, part := range []string{"first &lt;&amp;&gt;", `fill="#ff7b72">red</tspan>`, `fill="#9198a1">faint</tspan>`, "<title>A demo</title>", "prefers-reduced-motion"} {
		if !strings.Contains(drawn, part) {
			t.Errorf("no %s in the picture", part)
		}
	}
	for d := xml.NewDecoder(strings.NewReader(drawn)); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

// TestACommandThatFails is no recording.
func TestACommandThatFails(t *testing.T) {
	for _, command := range [][]string{{"sh", "-c", "exit 3"}, {filepath.Join(t.TempDir(), "none")}} {
		if _, err := record(t.Context(), 40, 5, time.Millisecond, command); err == nil {
			t.Errorf("%q was recorded", command)
		}
	}
}

// TestThePictureOfTheDemo in the docs ends as the demo does.
func TestThePictureOfTheDemo(t *testing.T) {
	picture, err := os.ReadFile("../../docs/demo.svg")
	if err != nil {
		t.Fatal(err)
	}
	for _, word := range []string{"found", "booted", "wiped", "verified", "try next"} {
		if !strings.Contains(string(picture), ">"+word) {
			t.Errorf("docs/demo.svg has no line %q: make recording", word)
		}
	}
}
