package sim

import (
	"net/http"
	"slices"
	"strconv"
	"time"
)

// TaskState is Task.TaskState of DSP0268.
type taskState string

const (
	taskNew       taskState = "New"
	taskPending   taskState = "Pending" // for a start of the machine
	taskRunning   taskState = "Running"
	taskCompleted taskState = "Completed"
	taskException taskState = "Exception"
)

// maxTasks is how many tasks a BMC remembers.
const maxTasks = 16

// task is something that takes a BMC longer than a request.
type task struct {
	id, name   string
	job        bool   // it became one
	update     bool   // of firmware
	payload    object // what it began with; nil: it does not say
	state      taskState
	percent    int
	messages   []*failure
	start, end time.Time
}

func (t task) over() bool { return t.state == taskCompleted || t.state == taskException }

func (t task) status() string {
	if t.state == taskException {
		return "Critical"
	}
	return "OK"
}

func (t task) info() []object {
	out := []object{}
	for _, m := range t.messages {
		out = append(out, m.info())
	}
	return out
}

// addTask begins a task and returns its id.
func (b *bmc) addTask(name string) task {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.addTaskLocked(name)
}

func (b *bmc) addTaskLocked(name string) task {
	b.nextTask++
	t := task{id: numbered(b.quirks.taskID, b.nextTask), name: name, state: taskNew, start: b.rack.opts.Clock.Now()}
	b.tasks = append(b.tasks, t)
	if len(b.tasks) > maxTasks {
		b.tasks = slices.Delete(b.tasks, 0, len(b.tasks)-maxTasks)
	}
	return t
}

// forgetTasks forgets tasks, as a BMC does that is reset with those under way.
func (b *bmc) forgetTasks(which func(task) bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.tasks = slices.DeleteFunc(b.tasks, which)
}

func (b *bmc) changeTask(id string, change func(*task)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for i := range b.tasks {
		if b.tasks[i].id == id {
			change(&b.tasks[i])
		}
	}
}

// endTask is the end of a task, with failed as its reason or nil.
func (b *bmc) endTask(id string, failed *failure) {
	b.changeTask(id, func(t *task) {
		t.end, t.percent, t.state = b.rack.opts.Clock.Now(), 100, taskCompleted
		done := &failure{status: http.StatusOK, id: "Success", text: "The request completed successfully."}
		if failed != nil {
			t.state, done = taskException, failed
		}
		t.messages = append(t.messages, done)
	})
}

func (b *bmc) task(id string) (task, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	i := slices.IndexFunc(b.tasks, func(t task) bool { return t.id == id })
	if i < 0 {
		return task{}, false
	}
	return b.tasks[i], true
}

func (b *bmc) idsOfTasks(job bool) []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := []string{}
	for _, t := range b.tasks {
		if t.job == job {
			out = append(out, t.id)
		}
	}
	return out
}

func (b *bmc) taskIDs() []string { return b.idsOfTasks(false) }
func (b *bmc) jobIDs() []string  { return b.idsOfTasks(true) }

// getTask answers with the job where the task has become one.
func getTask(b *bmc, r *http.Request) (object, error) {
	t, ok := b.task(r.PathValue("id"))
	switch {
	case !ok:
		return nil, errNotFound(r.URL.Path)
	case t.job:
		return t.jobBody(), nil
	default:
		return t.body(), nil
	}
}

func (t task) body() object {
	o := object{
		"@odata.id": tasksURI + "/" + t.id, "@odata.type": "#Task.v1_7_4.Task", "Id": t.id, "Name": t.name,
		"TaskState": t.state, "TaskStatus": t.status(), "PercentComplete": t.percent, "TaskMonitor": monitorsURI + "/" + t.id,
		"StartTime": t.start.UTC().Format(time.RFC3339), "Messages": t.info(), "HidePayload": t.payload == nil,
	}
	if t.payload != nil {
		o["Payload"] = t.payload
	}
	if t.over() {
		o["EndTime"] = t.end.UTC().Format(time.RFC3339)
	}
	return o
}

func (t task) jobBody() object {
	o := object{
		"@odata.id": jobsURI + "/" + t.id, "@odata.type": "#Job.v1_2_5.Job", "Id": t.id, "Name": t.name,
		"JobState": t.state, "JobStatus": t.status(), "PercentComplete": t.percent,
		"StartTime": t.start.UTC().Format(time.RFC3339), "Messages": t.info(), "HidePayload": true,
	}
	if t.over() {
		o["EndTime"] = t.end.UTC().Format(time.RFC3339)
	}
	return o
}

// accepted is the answer to the request that the task began with.
func (t task) accepted() answer {
	return answer{status: http.StatusAccepted, body: t.body(), header: map[string]string{"Location": monitorsURI + "/" + t.id, "Retry-After": "1"}}
}

// serveMonitor answers 202 while the task goes on (DSP0266, "Asynchronous operations").
// A task that has become a job has no monitor any more.
func serveMonitor(w http.ResponseWriter, r *http.Request) {
	b, _ := r.Context().Value(bmcKey{}).(*bmc)
	t, ok := b.task(r.PathValue("id"))
	switch {
	case !ok, t.job:
		b.fail(w, errNotFound(r.URL.Path))
	case !t.over():
		b.reply(w, t.accepted())
	default:
		b.reply(w, answer{status: http.StatusOK, body: t.body()})
	}
}

func getTaskService(b *bmc, _ *http.Request) (object, error) {
	return object{
		"@odata.id": taskServiceURI, "@odata.type": "#TaskService.v1_2_1.TaskService", "Id": "TaskService", "Name": "Task Service",
		"ServiceEnabled": true, "Status": healthy(), "DateTime": b.now().UTC().Format(time.RFC3339),
		"CompletedTaskOverWritePolicy": "Oldest", "LifeCycleEventOnTaskStateChange": false, "Tasks": link(tasksURI),
	}, nil
}

// ofJobs hides what only some vendors have.
func ofJobs(get getter) getter {
	return func(b *bmc, r *http.Request) (object, error) {
		if !b.quirks.updateBecomesJob {
			return nil, errNotFound(r.URL.Path)
		}
		return get(b, r)
	}
}

func getJobService(b *bmc, r *http.Request) (object, error) {
	return ofJobs(func(*bmc, *http.Request) (object, error) {
		return object{
			"@odata.id": jobServiceURI, "@odata.type": "#JobService.v1_0_5.JobService", "Id": "JobService", "Name": "Job Service",
			"ServiceEnabled": true, "Status": healthy(), "Jobs": link(jobsURI),
			"ServiceCapabilities": object{"MaxJobs": maxTasks, "MaxSteps": 1, "Scheduling": false},
		}, nil
	})(b, r)
}

func getJob(b *bmc, r *http.Request) (object, error) {
	t, ok := b.task(r.PathValue("id"))
	if !ok || !t.job {
		return nil, errNotFound(r.URL.Path)
	}
	return t.jobBody(), nil
}

// lifecycleJob is how long a job of the BMC's own keeps the boot settings locked.
const lifecycleJob = 30 * time.Second

// startLifecycleJob is what a change of the boot mode comes to at some BMCs: a
// job that locks what it is about.
func (b *bmc) startLifecycleJob() {
	t := b.addTask("Boot mode configuration")
	b.mu.Lock()
	b.lockedUntil = b.rack.opts.Clock.Now().Add(lifecycleJob)
	b.mu.Unlock()
	b.changeTask(t.id, func(t *task) { t.state = taskRunning })
	b.rack.spawn(func() {
		if b.rack.wait(b.rack.ctx, lifecycleJob) {
			b.endTask(t.id, nil)
		}
	})
}

// lockedByJob refuses a change while such a job runs.
func (b *bmc) lockedByJob() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if left := b.lockedUntil.Sub(b.rack.opts.Clock.Now()); left > 0 {
		seconds := strconv.Itoa(int(left/time.Second) + 1)
		return &failure{status: http.StatusConflict, id: "ResourceInUse", text: "The change to the requested resource failed because a configuration job holds it for another %1 seconds.", args: []string{seconds}}
	}
	return nil
}
