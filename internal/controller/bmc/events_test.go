package bmc

import (
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bmc"
	"github.com/farrier-dev/farrier/internal/controller/connection"
	"github.com/farrier-dev/farrier/internal/controller/controllertest"
)

// TestABMCThatCannotBeUsedIsToldOf: once, with the cause, where describe shows it and where operators read, and again when that has changed.
func TestABMCThatCannotBeUsedIsToldOf(t *testing.T) {
	stands(t, func(t *testing.T, s *stand) {
		var lines []string
		s.API.Logger = funcr.New(func(_, args string) { lines = append(lines, args) }, funcr.Options{})
		s.bmc.Set(system(uri1, uuid1))
		s.settle(t)
		if len(s.told(metalv1.ReasonConnected)) != 0 || len(lines) != 0 {
			t.Errorf("of a BMC with which nothing is wrong is told: %q, %q", s.heard, lines)
		}
		s.bmc.Fails(&bmc.Error{Kind: bmc.KindServer, Op: "GET /redfish/v1", StatusCode: 500})
		for range 3 {
			s.look(t)
		}
		if got := s.told(metalv1.ReasonInternalServerError); len(got) != 1 || !strings.HasPrefix(got[0], "Warning") || !strings.Contains(got[0], "500 Internal Server Error") {
			t.Errorf("events %q", got)
		}
		if len(lines) != 1 || !strings.Contains(lines[0], "500 Internal Server Error") || !strings.Contains(lines[0], `"object"="b"`) {
			t.Errorf("lines %q", lines)
		}
		s.restart(t) // nothing is known for a moment, and nothing is new
		s.settle(t)
		s.look(t)
		if got := s.told(metalv1.ReasonInternalServerError); len(got) != 1 || len(lines) != 1 {
			t.Errorf("after a start: events %q, lines %q", got, lines)
		}
		s.bmc.Fails(&bmc.Error{Kind: bmc.KindTimeout, Op: "GET /redfish/v1", Message: "no answer in time"})
		s.pass(t, 15*time.Minute)
		if got := s.told(metalv1.ReasonConnectionFailed); len(got) != 1 || len(lines) != 2 {
			t.Errorf("for another reason: events %q, lines %q", got, lines)
		}
		s.bmc.Fails(nil)
		s.pass(t, 15*time.Minute)
		if got := s.told(metalv1.ReasonConnected); len(got) != 1 || !strings.HasPrefix(got[0], "Normal") || len(lines) != 3 {
			t.Errorf("when it answers again: events %q, lines %q", got, lines)
		}
	})
}

// What is wrong with what a BMC refers to has it go to Error too.
func TestABMCWithoutItsSecretIsToldOf(t *testing.T) {
	stands(t, func(t *testing.T, s *stand) {
		s.Remove(t, controllertest.Read[metalv1.BMCSecret](t, s.API, "s"))
		s.settle(t)
		s.settle(t)
		if got := s.told(connection.ReasonSecretNotFound); len(got) != 1 || !strings.Contains(got[0], `"s"`) {
			t.Errorf("events %q", got)
		}
	})
}

// An event whose text is too long is refused by the API, and nobody is told anything.
func TestTheTextOfAnEventIsNotTooLong(t *testing.T) {
	stands(t, func(t *testing.T, s *stand) {
		s.bmc.Fails(&bmc.Error{Kind: bmc.KindServer, Op: "GET " + strings.Repeat("ü", 2000), StatusCode: 500})
		s.settle(t)
		got := s.told(metalv1.ReasonInternalServerError)
		if len(got) != 1 || len(got[0]) > len("Warning "+metalv1.ReasonInternalServerError+" ")+1024 {
			t.Errorf("events of %d", len(got))
		}
	})
}
