package page

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/farrier-dev/farrier/internal/controller/controllertest"
	"github.com/farrier-dev/farrier/internal/controller/operator"
)

func TestUnknownMachines(t *testing.T) {
	now := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	s := Source{Objects: controllertest.NewAPI(t), Now: now, Unknown: func(context.Context) ([]operator.UnknownMachine, error) {
		return []operator.UnknownMachine{{Address: "10.0.0.9", Serial: "<b>\x1b[31m", Last: now.Add(-time.Minute), Times: 3}}, nil
	}}
	v, err := Unknown(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := Write(&b, Shell{Path: "/dashboard/unknown", Person: "ada", CSRF: "c"}, v); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"10.0.0.9", "&lt;b&gt;\ufffd[31m", `aria-current="page">Unknown`, ">1m<"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, &b)
		}
	}
}
