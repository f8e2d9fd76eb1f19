package diagnosis

import (
	"fmt"
	"net/http"
	"slices"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bootattempt"
	"github.com/farrier-dev/farrier/internal/bootview"
	"github.com/farrier-dev/farrier/internal/ipxeapi/profile"
	"github.com/farrier-dev/farrier/internal/logbook"
)

// ReasonFine is the reason of an answer about something that is as it should be.
const ReasonFine = "AsExpected"

// Explain says why what the facts are about is as it is.
func Explain(f *Facts) *Answer {
	a := f.explain()
	if a == nil {
		a = f.fine()
	}
	a.Subject = f.subject()
	a.Cause = sentence(a.Cause)
	a.patient(f.Now)
	a.Evidence = append(a.Evidence, f.evidence()...)
	a.NotRead = f.NotRead
	return a
}

// Wrong is the answer where something is wrong, without evidence; nil: nothing is, or it has its time still.
func Wrong(f *Facts) *Answer {
	a := f.explain()
	if a == nil || a.Standing != Trouble {
		return nil
	}
	a.Subject, a.Cause = f.subject(), sentence(a.Cause)
	return a
}

// Overdue is when the step of the present boot that is missing will be overdue; zero: none is missing, or it is overdue already.
func Overdue(f *Facts) time.Time {
	a := f.boot()
	if a == nil || a.Standing != Waiting || a.Missing == nil {
		return time.Time{}
	}
	return a.Missing.Since.Add(time.Duration(a.Missing.Usual))
}

// ofClaim reports whether somebody asked about the claim, and not about its Server.
func (f *Facts) ofClaim() bool {
	return f.Claim != nil && (f.Server == nil || f.Asked == f.Claim.Namespace+"/"+f.Claim.Name || f.Asked == f.Claim.Name && f.Asked != f.Server.Name)
}

func (f *Facts) subject() string {
	switch {
	case f.ofClaim():
		return f.names(nil).Replace("{claim}")
	case f.Server != nil:
		return "Server " + f.Server.Name
	case f.BMC != nil:
		return "BMC " + f.BMC.Name
	}
	return "Machine " + f.Asked
}

// explain asks in the order in which one thing depends on another: the claim on its server, that on its BMC and its boot. nil: all is well.
func (f *Facts) explain() *Answer {
	steps := []func() *Answer{
		func() *Answer { return f.byCondition(kindClaim, explains) },
		f.leftAlone,
		func() *Answer { return f.byCondition(kindBMC, explains) },
		f.discoveryFailed,
		func() *Answer { return f.byCondition(kindServer, explains) },
		func() *Answer { return f.byCondition(kindConfig, explains) },
		f.boot,
		f.late,
		func() *Answer { return f.byCondition(kindServer, beside) },
		func() *Answer { return f.byCondition(kindConfig, beside) },
		func() *Answer { return f.byCondition(kindClaim, beside) },
		func() *Answer { return f.byCondition(kindBMC, beside) },
		f.unlisted,
		f.contested,
		f.unknownMachine,
	}
	var waits *Answer
	for _, step := range steps {
		a := step()
		switch {
		case a == nil:
		case a.Standing == Trouble, a.Standing == LeftAlone:
			return a
		case waits == nil:
			waits = a
		}
	}
	return waits
}

// holds reports whether the claim keeps its server without an image: nothing of it boots, which is meant.
func (f *Facts) holds() bool {
	return f.Claim != nil && f.Claim.Spec.Image == "" && !f.OfProbe && (f.Server == nil || f.Server.Spec.ServerMaintenanceRef == nil)
}

// conditions are those of a kind, as far as they tell whether something is wrong.
func (f *Facts) conditions(kind string) []metav1.Condition {
	switch {
	case kind == kindClaim && f.holds():
		return slices.DeleteFunc(slices.Clone(f.Claim.Status.Conditions), func(c metav1.Condition) bool { return c.Type == metalv1.ConditionBootReady })
	case kind == kindConfig && f.holds():
		return nil
	case kind == kindClaim && f.Claim != nil:
		return f.Claim.Status.Conditions
	case kind == kindServer && f.Server != nil:
		return f.Server.Status.Conditions
	case kind == kindBMC && f.BMC != nil:
		return f.BMC.Status.Conditions
	case kind == kindConfig && f.Config != nil:
		return f.Config.Status.Conditions
	}
	return nil
}

func (f *Facts) byCondition(kind string, of weight) *Answer {
	row, c := find(kind, f.conditions(kind), of)
	if row == nil {
		return nil
	}
	names := f.names(c)
	a := &Answer{
		Standing: Trouble, Reason: c.Reason, Since: c.LastTransitionTime.Time, Cause: names.Replace(row.cause), Next: names.Replace(row.next), Usual: row.usual,
		Evidence: []string{f.quote(kind, c)},
	}
	if row.waits {
		a.Standing = Waiting
	}
	if kind == kindClaim && c.Reason == metalv1.ReasonNoMatchingServer {
		f.closest(a)
	}
	return a
}

// quote is a condition as evidence.
func (f *Facts) quote(kind string, c *metav1.Condition) string {
	return fmt.Sprintf("Condition %s of the %s is %s since %s: %s", c.Type, kind, c.Status, f.ago(c.LastTransitionTime.Time), Said(c))
}

// Said is what a condition says: its reason and its message.
func Said(c *metav1.Condition) string {
	if c.Message == "" {
		return c.Reason
	}
	return c.Reason + ": " + c.Message
}

func (f *Facts) ago(at time.Time) string {
	if at.IsZero() || at.After(f.Now) {
		return "now"
	}
	return Duration(f.Now.Sub(at)).String()
}

// leftAlone says that Farrier does nothing because somebody asked for that.
func (f *Facts) leftAlone() *Answer {
	if f.Server == nil {
		return nil
	}
	replace := func(text string) string { return f.names(nil).Replace(text) } // which costs more than the rest
	switch {
	case metalv1.IsIgnored(f.Server):
		return &Answer{
			Standing: LeftAlone, Reason: "Ignored", Cause: replace("{server} is left alone: its annotation " + metalv1.AnnotationOperation + " asks Farrier to ignore it."),
			Next: replace("Remove the annotation: kubectl annotate server {name} " + metalv1.AnnotationOperation + "-"),
		}
	case f.Server.Annotations[metalv1.AnnotationParked] == metalv1.AnnotationTrue:
		return &Answer{
			Standing: LeftAlone, Reason: "Parked", Since: ParkedSince(f.Server), Evidence: f.parkedFor(), Cause: replace("{server} is parked, and Farrier leaves it alone."),
			Next: replace("kubectl annotate server {name} " + metalv1.AnnotationOperation + "=" + metalv1.OperationUnpark),
		}
	case f.Server.Spec.ServerMaintenanceRef != nil && f.Server.Status.State == metalv1.ServerStateMaintenance:
		ref := f.Server.Spec.ServerMaintenanceRef
		return &Answer{
			Standing: LeftAlone, Reason: "Maintenance", Cause: replace(fmt.Sprintf("{server} is in maintenance: ServerMaintenance %s/%s has it.", ref.Namespace, ref.Name)),
			Next: "Wait for the end of the maintenance, or delete it.",
		}
	}
	return nil
}

// ParkedSince is when a Server was parked; zero: nothing tells.
func ParkedSince(server *metalv1.Server) time.Time {
	at, err := time.Parse(time.RFC3339, server.Annotations[metalv1.AnnotationParkedSince])
	if err != nil {
		return time.Time{}
	}
	return at
}

func (f *Facts) parkedFor() []string {
	since := ParkedSince(f.Server)
	if since.IsZero() {
		return nil
	}
	return []string{fmt.Sprintf("It was parked %s ago, at %s", f.ago(since), since.UTC().Format(time.DateTime+" MST"))}
}

// discoveryFailed says at which step the discovery stopped that was given up, or that waits for its next try.
func (f *Facts) discoveryFailed() *Answer {
	var failed *metav1.Condition
	conditions := f.conditions(kindServer)
	for _, c := range []*metav1.Condition{apimeta.FindStatusCondition(conditions, metalv1.ConditionReady), apimeta.FindStatusCondition(conditions, metalv1.ConditionDiscovered)} {
		if c != nil && c.Status == no && (c.Reason == "DiscoveryFailed" || c.Reason == "TimedOut") {
			failed = c
			break
		}
	}
	if failed == nil {
		return nil
	}
	f.OfProbe = true
	a := f.lastBoot()
	if a == nil {
		a = f.answer(hops[0], f.Server.CreationTimestamp.Time)
	}
	a.Standing, a.Since = Trouble, failed.LastTransitionTime.Time
	if failed.Reason == "DiscoveryFailed" {
		a.Next += " Then: " + f.names(nil).Replace(retry)
	}
	a.Evidence = append(a.Evidence, f.quote(kindServer, failed))
	return a
}

// late says that the server is longer in its state than usual, where nothing else says why.
func (f *Facts) late() *Answer {
	c := apimeta.FindStatusCondition(f.conditions(kindServer), "Late")
	if c == nil || c.Status != yes {
		return nil
	}
	return &Answer{
		Standing: Trouble, Reason: c.Reason, Since: c.LastTransitionTime.Time, Cause: f.names(c).Replace("{server} is late: {message}."),
		Next: "Look at its console, and at the log of Farrier for this server.", Evidence: []string{f.quote(kindServer, c)},
	}
}

// decisive are the conditions of each kind that are false only where something is wrong, or on its way.
var decisive = []struct{ kind, condition, name string }{
	{kindClaim, metalv1.ConditionBound, "{claim}"}, {kindBMC, metalv1.ConditionReady, "{bmc}"}, {kindServer, metalv1.ConditionReady, "{server}"}, {kindConfig, metalv1.ConditionReady, "{config}"},
}

// unlisted says what is wrong for a reason that no table has, as of another version of Farrier.
func (f *Facts) unlisted() *Answer {
	for _, d := range decisive {
		c := apimeta.FindStatusCondition(f.conditions(d.kind), d.condition)
		if c == nil || c.Status != no || normal[c.Reason] || isListed(d.kind, c) {
			continue
		}
		return &Answer{
			Standing: Trouble, Reason: c.Reason, Since: c.LastTransitionTime.Time, Cause: f.names(nil).Replace(d.name) + " is not " + c.Type + ": " + Said(c) + ".",
			Next: "Look at the log of Farrier for it.", Evidence: []string{f.quote(d.kind, c)},
		}
	}
	if f.Server != nil && f.Server.Status.State == metalv1.ServerStateError {
		return &Answer{Standing: Trouble, Reason: string(metalv1.ServerStateError), Cause: f.names(nil).Replace("{server} needs a person, and no condition says why."), Next: f.names(nil).Replace(retry)}
	}
	return nil
}

// contested says that several Assignments select a machine that boots by no boot configuration.
func (f *Facts) contested() *Answer {
	if f.Config != nil || len(f.Candidates) == 0 {
		return nil
	}
	first := f.Candidates[0]
	if first.Problem != "" {
		return &Answer{
			Standing: Trouble, Reason: "AssignmentNotServed", Cause: fmt.Sprintf("Assignment %s selects the machine and cannot be served: %s.", first.Assignment, first.Problem),
			Next: "Correct its Profile; the machine never gets another one instead.",
		}
	}
	at := slices.IndexFunc(f.Candidates, func(c profile.Candidate) bool { return c.Conflict != "" && slices.Contains(c.Peers, first.Assignment) })
	if at < 0 {
		return nil
	}
	yields := f.Candidates[at]
	return &Answer{
		Standing: Trouble, Reason: yields.Conflict,
		Cause: fmt.Sprintf("Two Assignments select this machine: it gets %s, and %s yields to it (%s).", first.Assignment, yields.Assignment, yields.Conflict),
		Next:  fmt.Sprintf("Delete one of them, or give the one that is meant a higher priority: farrier explain shows the order of all %d.", len(f.Candidates)),
		Usual: []string{"An Assignment was copied for another machine, and its selector was not changed.", "Two teams assign the same machine."},
	}
}

func (f *Facts) fine() *Answer {
	a := &Answer{Standing: Fine, Reason: ReasonFine, Next: "Nothing."}
	names := f.names(nil)
	switch {
	case f.Server != nil && f.holds():
		a.Cause = names.Replace("Nothing is wrong with {server}: {claim} holds it without an image, so it boots nothing.")
	case f.Server != nil:
		a.Cause = names.Replace(fmt.Sprintf("Nothing is wrong with {server}: it is %s, and its machine is %s.", orUnknown(string(f.Server.Status.State)), orUnknown(string(f.Server.Status.PowerState))))
	case f.Claim != nil:
		a.Cause = names.Replace("Nothing is wrong with {claim} that Farrier could see.")
		if c := apimeta.FindStatusCondition(f.Claim.Status.Conditions, metalv1.ConditionBound); c == nil {
			a.Standing, a.Reason, a.Next = Waiting, "NotSeen", "Wait a moment; if it stays so, look whether Farrier runs."
			a.Cause = names.Replace("Farrier has not looked at {claim} yet.")
		}
	case f.BMC != nil:
		a.Cause = names.Replace("Nothing is wrong with {bmc}.")
	}
	return a
}

func orUnknown(text string) string {
	if text == "" {
		return "in no known state"
	}
	return text
}

// evidence is what was seen beside the cause: notes, and then, in its order, what happened in the newest boot.
func (f *Facts) evidence() []string {
	var lines []string
	for _, kind := range []string{kindBMC, kindServer, kindConfig} {
		if a := f.byCondition(kind, note); a != nil {
			lines = append(lines, "Also: "+a.Cause+" "+a.Next)
		}
	}
	seen := slices.Concat(f.refusedCommands(), f.printed(), f.requests())
	slices.SortStableFunc(seen, func(a, b sighting) int { return a.at.Compare(b.at) })
	for _, s := range seen {
		lines = append(lines, f.ago(s.at)+" ago, "+s.text)
	}
	return lines
}

// sighting is something that was seen of a machine.
type sighting struct {
	at   time.Time
	text string
}

// requests are those of the machine in its present boot.
func (f *Facts) requests() (seen []sighting) {
	if len(f.Boots) == 0 {
		return nil
	}
	last := f.Boots[len(f.Boots)-1]
	if a := bootattempt.Of(f.Config); a.Begun() && a.ID != last.Attempt {
		return nil // of an earlier boot
	}
	for _, s := range last.Steps {
		name := kindNames[s.Kind]
		if name == "" {
			name = string(s.Kind)
		}
		if s.What != "" {
			name += " (" + s.What + ")"
		}
		did := "asked for " + name
		if s.Kind == bootview.ReceivedReport {
			did = "sent the report of its probe"
		}
		seen = append(seen, sighting{s.First, fmt.Sprintf("%s %s: %d %s", s.Addr, did, s.Status, http.StatusText(s.Status))})
	}
	return seen
}

// refusedCommands are the last commands that the BMC did not carry out.
func (f *Facts) refusedCommands() (seen []sighting) {
	const most = 3
	for i := len(f.Logged) - 1; i >= 0 && len(seen) < most; i-- {
		if e := &f.Logged[i]; e.Kind == logbook.KindCommand && e.Bad {
			answer := "no answer"
			if e.Status != 0 {
				answer = fmt.Sprintf("%d %s", e.Status, http.StatusText(e.Status))
			}
			seen = append(seen, sighting{e.Time, fmt.Sprintf("the BMC was told %s: %s (%s) after %s", e.Detail, answer, e.Reason, e.Took.Round(time.Millisecond))})
		}
	}
	slices.Reverse(seen)
	return seen
}

// printed are the last lines of the serial console in the present boot, where consoles are recorded.
func (f *Facts) printed() (seen []sighting) {
	const most = 3
	a := bootattempt.Of(f.Config)
	for i := len(f.Logged) - 1; i >= 0 && len(seen) < most; i-- {
		if e := &f.Logged[i]; e.Kind == logbook.KindConsole && a.Begun() && e.Attempt == a.ID {
			seen = append(seen, sighting{e.Time, "its console printed: " + e.Detail})
		}
	}
	slices.Reverse(seen)
	return seen
}
