package bmc

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"
)

// TaskState is how far something is that takes a BMC longer than a request.
type TaskState string

// The schema has more states; these are what they come to.
const (
	TaskRunning   TaskState = "Running"
	TaskCompleted TaskState = "Completed"
	TaskFailed    TaskState = "Failed"
)

// Ended reports whether the state is final.
func (s TaskState) Ended() bool { return s == TaskCompleted || s == TaskFailed }

// Task is a Task or a Job of a BMC.
type Task struct {
	URI     string // of the resource; where there is only a monitor, of that
	ID      string
	Name    string
	State   TaskState
	Said    string // the state in the BMC's own word: New, Suspended, Exception, …
	Percent int
	// Message is the last that the BMC said of it.
	Message string
	// Start is when it began, by the BMC's clock; zero: the BMC does not say.
	Start time.Time
	// Target and Image are what the request asked for that it began with: the URI of an action, and the image of an update. Most BMCs do
	// not say.
	Target, Image string
}

// maxTasks bounds how many tasks are read for a list.
const maxTasks = 64

type taskBody struct {
	ID       text `json:"@odata.id"`
	Name     text
	TaskID   text `json:"Id"`
	State    text `json:"TaskState"`
	JobState text
	Status   text   `json:"TaskStatus"`
	Percent  number `json:"PercentComplete"`
	Start    text   `json:"StartTime"`
	Payload  json.RawMessage
	Messages []struct {
		ID   text `json:"MessageId"`
		Text text `json:"Message"`
	}
}

// taskState sorts the states of Task (v1.7) and Job (v1.2). What is not known is running: it
// will say otherwise.
func taskState(said string) TaskState {
	switch strings.ToLower(said) {
	case "completed":
		return TaskCompleted
	case "exception", "killed", "cancelled", "canceled", "interrupted", "invalid", "completedwitherrors", "failed":
		return TaskFailed
	}
	return TaskRunning
}

func (b *taskBody) task(uri, said string) Task {
	t := Task{URI: uri, ID: string(b.TaskID), Name: string(b.Name), State: taskState(said), Said: said, Percent: int(b.Percent.count())}
	if id, ok := resourcePath(string(b.ID)); ok {
		t.URI = id
	}
	t.Target, t.Image = b.began()
	if start, err := time.Parse(time.RFC3339, string(b.Start)); err == nil {
		t.Start = start
	}
	if strings.EqualFold(string(b.Status), "Critical") && t.State == TaskCompleted {
		t.State = TaskFailed // ended, and not well
	}
	for _, m := range b.Messages {
		if m.Text != "" {
			t.Message = printable(string(m.Text), 200)
		} else if m.ID != "" {
			t.Message = printable(string(m.ID), 200)
		}
	}
	return t
}

// began is what the request asked for that the task began with (DSP0268, Task.Payload): the URI of an action, and of an image.
func (b *taskBody) began() (target, image string) {
	var payload struct {
		Target text `json:"TargetUri"`
		Body   text `json:"JsonBody"`
	}
	var sent struct {
		Image text `json:"ImageURI"`
	}
	if len(b.Payload) == 0 || json.Unmarshal(b.Payload, &payload) != nil {
		return "", ""
	}
	if payload.Body != "" && json.Unmarshal([]byte(payload.Body), &sent) != nil {
		sent.Image = ""
	}
	return string(payload.Target), string(sent.Image)
}

// OfUpdate reports whether the task is about an update of firmware, as far as the BMC says what it is about.
func (t Task) OfUpdate() bool {
	// Lenovo takes images at /mfwupdate.
	if t.Image != "" || strings.Contains(t.Target, "/UpdateService") || strings.HasSuffix(t.Target, "/mfwupdate") {
		return true
	}
	if t.Target != "" {
		return false
	}
	name := strings.ToLower(t.Name)
	for _, word := range []string{"update", "firmware", "flash", "upgrade"} {
		if strings.Contains(name, word) {
			return true
		}
	}
	return false
}

// WaitsForStart reports whether the task has said that it goes on when something else happens: for an update of a BIOS that is a start of
// the machine.
func (t Task) WaitsForStart() bool {
	switch strings.ToLower(t.Said) {
	case "pending", "scheduled", "suspended", "userintervention", "new":
		return true
	}
	return false
}

// Task looks at a task once. uri is that of a task or of its monitor: a monitor answers 202
// while the task goes on, and then with what the operation came to (DSP0266, "Asynchronous
// operations").
func (c *Client) Task(ctx context.Context, uri string) (Task, error) {
	r := call{method: http.MethodGet, path: uri}
	q, err := c.serviceQuirks(ctx)
	if err != nil {
		return Task{}, err
	}
	a, err := c.do(ctx, r)
	if e, ok := errors.AsType[*Error](err); ok {
		switch {
		case e.StatusCode == http.StatusNotFound && q.updateJob:
			return c.job(ctx, uri)
		case e.Kind == KindRejected && e.StatusCode != http.StatusNotFound && e.StatusCode != http.StatusForbidden:
			return Task{URI: uri, State: TaskFailed, Message: e.Message}, nil // the operation's own answer
		}
	}
	if err != nil {
		return Task{}, err
	}
	var body taskBody
	err = decode(a.body, &body)
	switch {
	case err == nil && body.State != "":
		return body.task(uri, string(body.State)), nil
	case err == nil && body.JobState != "" && q.updateJob:
		return body.task(uri, string(body.JobState)), nil
	case err == nil && body.JobState != "":
		return Task{}, c.protocolError(r.op(), "body is no Task")
	case a.status == http.StatusAccepted:
		return Task{URI: uri, State: TaskRunning}, nil
	}
	return Task{URI: uri, State: TaskCompleted, Percent: 100}, nil
}

// job is the job that a task went on as.
func (c *Client) job(ctx context.Context, taskURI string) (Task, error) {
	root, err := c.root(ctx)
	if err != nil {
		return Task{}, err
	}
	taskURI = strings.TrimSuffix(taskURI, "/")
	uri := root.Jobs.or("/redfish/v1/JobService") + "/Jobs" + taskURI[strings.LastIndexByte(taskURI, '/'):]
	var body taskBody
	if _, err := c.get(ctx, uri, &body); err != nil {
		return Task{}, err
	}
	return body.task(uri, string(body.JobState)), nil
}

// Tasks lists what the task service remembers, and the jobs that tasks went on as, so that a task can be found again whose URI
// nobody wrote down.
func (c *Client) Tasks(ctx context.Context) ([]Task, error) {
	root, err := c.root(ctx)
	if err != nil {
		return nil, err
	}
	var service struct{ Tasks link }
	path := root.Tasks.or("/redfish/v1/TaskService")
	if _, err := c.get(ctx, path, &service); err != nil {
		return nil, err
	}
	uris, err := c.members(ctx, service.Tasks.or(path+"/Tasks"))
	if err != nil {
		return nil, err
	}
	uris = uris[max(0, len(uris)-maxTasks):]
	q, err := c.serviceQuirks(ctx)
	if err != nil {
		return nil, err
	}
	if q.updateJob {
		jobs, err := c.members(ctx, root.Jobs.or("/redfish/v1/JobService")+"/Jobs")
		if err != nil && Unreachable(err) {
			return nil, err
		}
		uris = append(uris, jobs[max(0, len(jobs)-maxTasks):]...)
	}
	var list []Task
	err = eachOf(ctx, c, bare[taskBody](uris), func(uri string, b *taskBody) {
		said := b.State
		if said == "" {
			said = b.JobState
		}
		list = append(list, b.task(uri, string(said)))
	})
	return list, err
}
