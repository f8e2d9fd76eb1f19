package charttest

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/promql/promqltest"
	"github.com/prometheus/prometheus/storage"

	"sigs.k8s.io/yaml"
)

// monitoringDir has alerts, their tests, and the dashboard.
const monitoringDir = configDir + "/monitoring"

// A rule is an alert of rules.yaml.
type rule struct {
	Alert       string            `json:"alert"`
	Expr        string            `json:"expr"`
	For         string            `json:"for"`
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
}

// pending is for how long the expression has to be true.
func (r rule) pending(t *testing.T) time.Duration {
	t.Helper()
	if r.For == "" {
		return 0
	}
	d, err := model.ParseDuration(r.For)
	if err != nil {
		t.Fatalf("%s: for: %v", r.Alert, err)
	}
	return time.Duration(d)
}

// A ruleTest is a test of rules_test.yaml, as promtool reads it.
type ruleTest struct {
	Name     string `json:"name"`
	Interval string `json:"interval"`
	Series   []struct {
		Series string `json:"series"`
		Values string `json:"values"`
	} `json:"input_series"`
	Alerts []struct {
		Time  string `json:"eval_time"`
		Alert string `json:"alertname"`
		Fires []struct {
			Labels      map[string]string `json:"exp_labels"`
			Annotations map[string]string `json:"exp_annotations"`
		} `json:"exp_alerts"`
	} `json:"alert_rule_test"`
}

// strictly reads a file of YAML.
func strictly(t *testing.T, path string, into any) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.UnmarshalStrict(text, into); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

// ruleGroup is a group of rules.yaml.
type ruleGroup struct {
	Name  string `json:"name"`
	Rules []rule `json:"rules"`
}

// ruleGroups are the groups of rules.yaml, in order.
func ruleGroups(t *testing.T) []ruleGroup {
	t.Helper()
	var file struct {
		Groups []ruleGroup `json:"groups"`
	}
	strictly(t, filepath.Join(monitoringDir, "rules.yaml"), &file)
	return file.Groups
}

// alerts are those of rules.yaml, by name.
func alerts(t *testing.T) map[string]rule {
	t.Helper()
	all := map[string]rule{}
	for _, group := range ruleGroups(t) {
		for _, r := range group.Rules {
			if _, twice := all[r.Alert]; twice {
				t.Errorf("%s is there twice", r.Alert)
			}
			all[r.Alert] = r
		}
	}
	if len(all) < 40 {
		t.Fatalf("only %d alerts", len(all))
	}
	return all
}

// TestAlertsFire evaluates the series of rules_test.yaml: each alert fires where the file says so, and nowhere else; each has series that fire it and
// series that do not.
func TestAlertsFire(t *testing.T) {
	all := alerts(t)
	var file struct {
		Rules    []string   `json:"rule_files"`
		Interval string     `json:"evaluation_interval"`
		Tests    []ruleTest `json:"tests"`
	}
	strictly(t, filepath.Join(monitoringDir, "rules_test.yaml"), &file)
	engine := promqltest.NewTestEngine(t, false, 0, 1_000_000)
	fired, silent := map[string]bool{}, map[string]bool{}
	for _, test := range file.Tests {
		if file.Interval != "1m" || test.Interval != "1m" {
			t.Fatalf("%s: the interval is not a minute", test.Name)
		}
		load := "load 1m\n"
		for _, s := range test.Series {
			load += "  " + s.Series + " " + s.Values + "\n"
		}
		series := promqltest.LoadedStorage(t, load)
		for _, check := range test.Alerts {
			r, known := all[check.Alert]
			if !known {
				t.Errorf("%s: there is no alert %s", test.Name, check.Alert)
				continue
			}
			at, err := model.ParseDuration(check.Time)
			if err != nil {
				t.Fatalf("%s: %v", test.Name, err)
			}
			want := []string{}
			for _, alert := range check.Fires {
				want = append(want, sorted(alert.Labels))
			}
			slices.Sort(want)
			if diff := cmp.Diff(want, firing(t, engine, series, r, time.Duration(at))); diff != "" {
				t.Errorf("%s, - expected, + firing:\n%s", test.Name, diff)
			}
			if len(want) > 0 {
				fired[r.Alert] = true
			} else {
				silent[r.Alert] = true
			}
		}
	}
	for name := range all {
		if !fired[name] || !silent[name] {
			t.Errorf("%s: tested where it fires: %v, and where it does not: %v", name, fired[name], silent[name])
		}
	}
}

// firing are the labels of the alerts of a rule that fire at a time: those whose expression has held long enough.
func firing(t *testing.T, engine *promql.Engine, series storage.Queryable, r rule, at time.Duration) []string {
	t.Helper()
	start, end := time.Unix(0, 0), time.Unix(0, 0).Add(at)
	query, err := engine.NewRangeQuery(context.Background(), series, nil, r.Expr, start, end, time.Minute)
	if err != nil {
		t.Fatalf("%s: %v", r.Alert, err)
	}
	defer query.Close()
	result := query.Exec(context.Background())
	matrix, err := result.Matrix()
	if err != nil {
		t.Fatalf("%s: %v", r.Alert, err)
	}
	found := []string{}
	for _, s := range matrix {
		held := map[int64]bool{}
		for _, point := range s.Floats {
			held[point.T] = true
		}
		since := end
		for held[since.UnixMilli()] {
			since = since.Add(-time.Minute)
		}
		if since = since.Add(time.Minute); since.After(end) || end.Sub(since) < r.pending(t) {
			continue
		}
		labels := s.Metric.Map()
		delete(labels, "__name__")
		maps.Copy(labels, r.Labels)
		found = append(found, sorted(labels))
	}
	slices.Sort(found)
	return found
}

// sorted is labels as a text.
func sorted(labels map[string]string) string {
	text, err := json.Marshal(labels)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// TestPromtool: the tool of Prometheus itself takes rules and tests. It also compares the texts of the alerts.
func TestPromtool(t *testing.T) {
	program, err := exec.LookPath("promtool")
	if err != nil {
		program, err = filepath.Abs("../../bin/prometheus/usr/bin/promtool")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(program); err != nil {
			t.Skip("no promtool here: it is in Debian's package prometheus, and hack/promtool.sh unpacks it; TestAlertsFire has evaluated the same series")
		}
	}
	for _, arguments := range [][]string{{"check", "rules", "rules.yaml"}, {"test", "rules", "rules_test.yaml"}} {
		command := exec.CommandContext(t.Context(), program, arguments...)
		command.Dir = monitoringDir
		if out, err := command.CombinedOutput(); err != nil {
			t.Errorf("promtool %s: %v\n%s", strings.Join(arguments, " "), err, out)
		}
	}
}

// foreign are metrics that are not Farrier's: of client-go, controller-runtime and the Go runtime, in both programs' registries.
var foreign = map[string][]string{
	"leader_election_master_status":             {"name"},
	"controller_runtime_reconcile_errors_total": {"controller"},
	"controller_runtime_reconcile_total":        {"controller", "result"},
	"rest_client_requests_total":                {"code", "method", "host"},
	"workqueue_queue_duration_seconds":          {"name", "controller"},
	"process_start_time_seconds":                {},
	"process_resident_memory_bytes":             {},
	"process_cpu_seconds_total":                 {},
}

// ofScrape are labels that Prometheus and its operator add.
var ofScrape = []string{"job", "namespace", "pod", "instance", "le", "__name__"}

var documentedSeries = regexp.MustCompile("(?m)^\\| `(farrier_[a-z_]+)` \\|([^|]*)\\|")

// documented are the labels of each metric of docs/metrics.md, and of foreign.
func documented(t *testing.T) map[string][]string {
	t.Helper()
	page, err := os.ReadFile("../../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	all := maps.Clone(foreign)
	for _, m := range documentedSeries.FindAllStringSubmatch(string(page), -1) {
		all[m[1]] = strings.FieldsFunc(m[2], func(r rune) bool { return strings.ContainsRune("`, ", r) })
	}
	if len(all) < 40 {
		t.Fatalf("docs/metrics.md has %d metrics", len(all))
	}
	return all
}

// checkExpr fails for a metric, or a label, that there is not.
func checkExpr(t *testing.T, what, text string, known map[string][]string) {
	t.Helper()
	expr, err := parser.NewParser(parser.Options{}).ParseExpr(text)
	if err != nil {
		t.Errorf("%s: %v", what, err)
		return
	}
	used := map[string]bool{}
	parser.Inspect(expr, func(node parser.Node, _ []parser.Node) error {
		switch node := node.(type) {
		case *parser.VectorSelector:
			name := node.Name
			for _, suffix := range []string{"_bucket", "_count", "_sum"} {
				if _, plain := known[name]; !plain {
					name = strings.TrimSuffix(name, suffix)
				}
			}
			labels, is := known[name]
			if !is {
				t.Errorf("%s: there is no metric %s", what, node.Name)
			}
			for _, matcher := range node.LabelMatchers {
				if !slices.Contains(labels, matcher.Name) && !slices.Contains(ofScrape, matcher.Name) {
					t.Errorf("%s: %s has no label %s", what, node.Name, matcher.Name)
				}
			}
			for _, label := range labels {
				used[label] = true
			}
		}
		return nil
	})
	parser.Inspect(expr, func(node parser.Node, _ []parser.Node) error {
		if by, is := node.(*parser.AggregateExpr); is {
			for _, label := range by.Grouping {
				if !used[label] && !slices.Contains(ofScrape, label) {
					t.Errorf("%s: groups by %s, which no metric of it has", what, label)
				}
			}
		}
		return nil
	})
}

var (
	anchor   = regexp.MustCompile(`(?m)^### (\w+)$`)
	severity = []string{"critical", "warning", "info"}
)

// TestAlertsSayWhatToDo: each alert uses metrics and labels that there are, has texts, and a section of docs/alerts.md, which has no others.
func TestAlertsSayWhatToDo(t *testing.T) {
	page, err := os.ReadFile("../../docs/alerts.md")
	if err != nil {
		t.Fatal(err)
	}
	sections := map[string]bool{}
	for _, m := range anchor.FindAllStringSubmatch(string(page), -1) {
		sections[m[1]] = true
	}
	known := documented(t)
	for name, r := range alerts(t) {
		checkExpr(t, name, r.Expr, known)
		if !slices.Contains(severity, r.Labels["severity"]) {
			t.Errorf("%s: severity %q", name, r.Labels["severity"])
		}
		for _, key := range []string{"summary", "description"} {
			if r.Annotations[key] == "" {
				t.Errorf("%s has no %s", name, key)
			}
		}
		if want := "https://github.com/farrier-dev/farrier/blob/main/docs/alerts.md#" + strings.ToLower(name); r.Annotations["runbook_url"] != want || !sections[name] {
			t.Errorf("%s: runbook_url %q, want %q, a section of docs/alerts.md: %v", name, r.Annotations["runbook_url"], want, sections[name])
		}
		delete(sections, name)
	}
	for name := range sections {
		t.Errorf("docs/alerts.md has %s, and there is no such alert", name)
	}
}

// A panel of the dashboard.
type panel struct {
	ID      int    `json:"id"`
	Type    string `json:"type"`
	Title   string `json:"title"`
	Targets []struct {
		Expr   string `json:"expr"`
		Legend string `json:"legendFormat"`
	} `json:"targets"`
	At struct{ H, W, X, Y int } `json:"gridPos"`
}

var inLegend = regexp.MustCompile(`\{\{(\w+)\}\}`)

// TestDashboard: every panel asks for metrics that there are, and has a place of its own.
func TestDashboard(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(monitoringDir, "dashboard.json"))
	if err != nil {
		t.Fatal(err)
	}
	var dashboard struct {
		UID    string  `json:"uid"`
		Panels []panel `json:"panels"`
	}
	if err := json.Unmarshal(text, &dashboard); err != nil {
		t.Fatal(err)
	}
	known, ids, taken := documented(t), map[int]bool{}, map[string]string{}
	for _, p := range dashboard.Panels {
		if ids[p.ID] {
			t.Errorf("%s: its id %d is another panel's", p.Title, p.ID)
		}
		ids[p.ID] = true
		if p.Type != "row" && len(p.Targets) == 0 {
			t.Errorf("%s shows nothing", p.Title)
		}
		for _, target := range p.Targets {
			checkExpr(t, p.Title, target.Expr, known)
			for _, m := range inLegend.FindAllStringSubmatch(target.Legend, -1) {
				if !strings.Contains(target.Expr, m[1]) && !slices.Contains(ofScrape, m[1]) {
					t.Errorf("%s: the legend has %s, and its series do not", p.Title, m[0])
				}
			}
		}
		for x := p.At.X; x < p.At.X+p.At.W; x++ {
			for y := p.At.Y; y < p.At.Y+p.At.H; y++ {
				cell := fmt.Sprint(x, ",", y)
				if taken[cell] != "" || x > 23 {
					t.Fatalf("%s lies on %s", p.Title, taken[cell])
				}
				taken[cell] = p.Title
			}
		}
	}
}
